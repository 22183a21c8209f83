package record

import "go.temporal.io/sdk/workflow"

// Drain receives and drops all signals that have arrived.
func Drain(channels ...workflow.ReceiveChannel) {
	for _, channel := range channels {
		for channel.ReceiveAsync(nil) {
			continue
		}
	}
}
