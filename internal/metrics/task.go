package metrics

import "github.com/prometheus/client_golang/prometheus"

// Task are the metrics of tasks.
type Task struct {
	Created     prometheus.Counter
	Transitions *prometheus.CounterVec // by action
	Ended       *prometheus.CounterVec // by state
	Waiting     prometheus.Gauge       // callers waiting for the next task
}

func (m *Metrics) Task() Task {
	return Task{
		Created:     m.counter("tasks_created_total", "Tasks made."),
		Transitions: m.counters("task_transitions_total", "Transitions of tasks, by action.", "action"),
		Ended:       m.counters("tasks_ended_total", "Tasks that ended, by final state.", "state"),
		Waiting:     m.gauge("task_claims_waiting_current", "Callers who wait for the next task."),
	}
}
