package rest

import (
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
)

// WholeBody is what /v1/status tells beside the deliveries.
type WholeBody struct {
	TasksInStatus        map[lifecycle.TaskState]int64        `json:"tasks_in_status" example:"{\"NEW\":3,\"STUCK\":1}" doc:"All statuses, also those without tasks"`
	TransactionsInStatus map[lifecycle.TransactionState]int64 `json:"transactions_in_status" example:"{\"processing\":1}" doc:"All statuses, also those without transactions"`
	NeedsReview          int64                                `json:"transactions_needing_review" example:"0"`
	TemporalAnswers      bool                                 `json:"temporal_answers" doc:"Else queues are not known, and workers only as they say themselves"`
	Queues               []taskQueueBody                      `json:"queues"`
	Workers              []workerBody                         `json:"workers" doc:"The processes that were heard of lately"`
	Outside              []outsideBody                        `json:"outside_systems" doc:"How the calls that were made anyway went; nobody asks for this"`
	Errors               []workloadErrorBody                  `json:"errors" doc:"Of all workloads, in the last 24 hours"`
	Alerts               []openAlertBody                      `json:"open_alerts"`
	Stops                []stopBody                           `json:"payments_stopped_by" doc:"An operator's pause stops all payments, a hold purchases; empty: nothing does"`
	OpenFindings         int64                                `json:"open_findings" example:"0" doc:"Differences between the record and Temporal about which nothing was done yet"`
	Findings             []findingBody                        `json:"last_findings" doc:"The newest first; /v1/findings has all"`
}

type taskQueueBody struct {
	Name      string  `json:"name" example:"delivery"`
	Kind      string  `json:"kind" enum:"workflow,activity"`
	Depth     int64   `json:"depth" example:"4" doc:"What waits"`
	OldestAge float64 `json:"oldest_age_seconds" example:"12.5"`
	Workers   int     `json:"workers" example:"2" doc:"That ask for work"`
}

type workerBody struct {
	Identity  string   `json:"identity" example:"4711@host@worker"`
	Service   *string  `json:"service" example:"worker" doc:"worker or api; null: only Temporal knows it"`
	Version   *string  `json:"version" example:"0.1.0"`
	Build     *string  `json:"build" example:"3f2a1c" doc:"Of a worker deployment; null: none"`
	LastHeard float64  `json:"last_heard_seconds" example:"1.2"`
	Carries   *int     `json:"carries" example:"3" doc:"Activities that run in it; null: not known"`
	Queues    []string `json:"queues" example:"[\"delivery\",\"stagecoach\"]" doc:"Where it asks for work"`
}

type outsideBody struct {
	Name       string   `json:"name" example:"yandex"`
	Answers    bool     `json:"answers" doc:"Whether the last call succeeded"`
	SuccessAge *float64 `json:"last_success_age_seconds" example:"3.2" doc:"null: it never did"`
	Error      *string  `json:"last_error" example:"YANDEX_TIMEOUT" doc:"A code; null: there was none"`
	ErrorAge   *float64 `json:"last_error_age_seconds" example:"90"`
	FailingFor *float64 `json:"failing_for_seconds" example:"90" doc:"null: it does not fail"`
}

type workloadErrorBody struct {
	Workload string `json:"workload" enum:"delivery,task,download,transaction"`
	Code     string `json:"code" example:"TELEGRAM_TIMEOUT" doc:"Of a transaction: its error message"`
	Count    int64  `json:"count" example:"3"`
}

type openAlertBody struct {
	Kind     string    `json:"kind" example:"storage_unreachable"`
	OpenedAt time.Time `json:"opened_at" example:"2026-03-01T12:00:00Z"`
}

type stopBody struct {
	Name    string     `json:"name" enum:"pause,hold"`
	Since   *time.Time `json:"since" example:"2026-03-01T12:00:00Z"`
	Reason  string     `json:"reason" example:"DAILY_LIMIT_REACHED"`
	RetryAt *time.Time `json:"retry_at" example:"2026-03-01T13:00:00Z" doc:"Of a hold: when one purchase may try"`
}

func wholeFrom(w status.Overview) WholeBody {
	body := WholeBody{
		TasksInStatus: w.TasksInStatus, TransactionsInStatus: w.TransactionsInStatus, NeedsReview: w.NeedsReview,
		TemporalAnswers: w.TemporalAnswers,
		OpenFindings:    w.OpenFindings,
		Queues:          each(w.Queues, func(q status.Queue) taskQueueBody { return taskQueueBody(q) }),
		Workers: each(w.Workers, func(p status.Worker) workerBody {
			return workerBody{
				p.Identity, optional(p.Service), optional(p.Version), optional(p.Build), p.LastHeard, p.Carries, p.Queues,
			}
		}),
		Outside: each(w.Outside, func(o status.Outside) outsideBody {
			return outsideBody{o.Name, o.Answers, o.SuccessAge, optional(o.Error), o.FailureAge, o.FailingFor}
		}),
		Errors: each(w.Errors, func(e store.WorkloadErrorCount) workloadErrorBody { return workloadErrorBody(e) }),
		Alerts: each(w.Alerts, func(a store.OpenAlert) openAlertBody { return openAlertBody{a.Kind, utc(a.OpenedAt)} }),
		Stops: each(w.Stops, func(s store.Switch) stopBody {
			return stopBody{s.Name, optionalUTC(s.Since), s.Reason, optionalUTC(s.RetryAt)}
		}),
		Findings: each(w.Findings, findingFrom),
	}

	return body
}

// each makes a list that is never null.
func each[From, To any](from []From, make func(From) To) []To {
	to := []To{}
	for _, item := range from {
		to = append(to, make(item))
	}
	return to
}
