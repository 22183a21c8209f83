package testtemporal

import "go.temporal.io/sdk/worker"

// WorkerOptions are for a worker on a real server that serves workflows. With its default two pollers the SDK may let
// both poll the worker's own sticky queue, for a minute, while new workflows wait in the shared one.
func WorkerOptions() worker.Options {
	return worker.Options{
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}), // as ours
	}
}
