package record

import "go.temporal.io/sdk/workflow"

// Drain takes away the signals that have come, whatever they say.
func Drain(channels ...workflow.ReceiveChannel) {
	for _, channel := range channels {
		for channel.ReceiveAsync(nil) {
			continue
		}
	}
}
