package shape

import (
	"encoding/json"
	"time"

	"stagecoach/internal/lifecycle"
)

// Status is the state of the service.
type Status struct {
	At                  time.Time    `json:"at" example:"2026-03-01T12:00:00Z"`
	QueueDepth          int64        `json:"queue_depth" example:"4" doc:"Deliveries waiting for a worker"`
	WorkerHeartbeatAge  *float64     `json:"worker_heartbeat_age_seconds" example:"3.2" doc:"Since the last sign of life from a worker; null: no worker"`
	OAuthTokenExpiresIn *float64     `json:"oauth_token_expires_in_seconds" example:"86400" doc:"For the file storage; null: unknown or unlimited"`
	TopErrors           []ErrorCount `json:"top_errors" doc:"In the last 24 hours"`
	Stuck               bool         `json:"stuck" doc:"Whether any delivery is stuck"`
	StuckJobs           []string     `json:"stuck_jobs" doc:"Deliveries whose worker's heartbeat is overdue"`

	// InState counts the rows of each workload in each state. In JSON each workload has its own field, named by
	// lifecycle.Workload.Counted.
	InState map[string]map[string]int64 `json:"-"`

	AboveLimits []AboveLimit `json:"above_limits" doc:"Users above a limit, because it was lowered or is new; up to 20 per limit, at most one minute old"`

	QBittorrent *Qbittorrent `json:"qbittorrent" doc:"null when downloads are off"`

	NeedsReview     int64           `json:"transactions_needing_review" example:"0"`
	TemporalAnswers bool            `json:"temporal_answers" doc:"If false, queues are unknown, and workers only by their own reports"`
	Queues          []TaskQueue     `json:"queues"`
	Workers         []Worker        `json:"workers" doc:"Processes that reported recently"`
	Outside         []Outside       `json:"outside_systems" doc:"Outcome of regular calls; no extra calls are made for this"`
	Errors          []WorkloadError `json:"errors" doc:"All workloads, last 24 hours"`
	Alerts          []OpenAlert     `json:"open_alerts"`
	Stops           []Stop          `json:"payments_stopped_by" doc:"An operator's pause stops payments, a hold stops purchases; empty: neither"`
	OpenFindings    int64           `json:"open_findings" example:"0" doc:"Differences between the record and Temporal on which no action was taken yet"`
	Findings        []Finding       `json:"last_findings" doc:"Newest first; /v1/findings has all"`
}

// plainStatus is a Status without its methods.
type plainStatus Status

// MarshalJSON implements json.Marshaler.
func (s Status) MarshalJSON() ([]byte, error) {
	document, err := json.Marshal(plainStatus(s))
	if err != nil {
		return nil, err
	}

	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, err
	}

	for _, workload := range lifecycle.Workloads {
		if fields[workload.Counted], err = json.Marshal(s.InState[workload.Name]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Status) UnmarshalJSON(document []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return err
	}

	s.InState = map[string]map[string]int64{}
	for _, workload := range lifecycle.Workloads {
		var counts map[string]int64
		if counted, given := fields[workload.Counted]; given {
			if err := json.Unmarshal(counted, &counts); err != nil {
				return err
			}
		}
		s.InState[workload.Name] = counts
	}

	return json.Unmarshal(document, (*plainStatus)(s))
}

// Qbittorrent is the state of the torrent client.
type Qbittorrent struct {
	Answers   bool     `json:"answers" doc:"Whether it responded to the last poll, and that was recent"`
	AnswerAge *float64 `json:"last_answer_age_seconds" example:"3.2" doc:"null: it has never responded"`
	Error     *string  `json:"error" example:"PROVIDER_UNAUTHORIZED" doc:"A code; null unless the last poll failed"`
}

// AboveLimit is a user who exceeds a limit.
type AboveLimit struct {
	UserID  string `json:"user_id" example:"7"`
	Limit   string `json:"limit" example:"tasks" doc:"As in the details of QUOTA_EXCEEDED; members: of one of the user's workspaces"`
	Maximum int    `json:"maximum" example:"5000"`
	Count   int64  `json:"count" example:"6120"`
}

// ErrorCount counts the deliveries that failed with one code.
type ErrorCount struct {
	Code  string `json:"code" example:"TELEGRAM_UNAVAILABLE"`
	Count int64  `json:"count" example:"3"`
}

// TaskQueue is the backlog of a Temporal task queue.
type TaskQueue struct {
	Name      string  `json:"name" example:"delivery"`
	Kind      string  `json:"kind" enum:"workflow,activity"`
	Depth     int64   `json:"depth" example:"4" doc:"Number waiting"`
	OldestAge float64 `json:"oldest_age_seconds" example:"12.5"`
	Workers   int     `json:"workers" example:"2" doc:"Workers that poll for work"`
}

// Worker is a process that polls task queues.
type Worker struct {
	Identity  string   `json:"identity" example:"4711@host@worker"`
	Service   *string  `json:"service" example:"worker" doc:"worker or api; null: known only to Temporal"`
	Version   *string  `json:"version" example:"0.1.0"`
	Build     *string  `json:"build" example:"3f2a1c" doc:"Version of a worker deployment; null: none"`
	LastHeard float64  `json:"last_heard_seconds" example:"1.2"`
	Carries   *int     `json:"carries" example:"3" doc:"Running activities; null: unknown"`
	Queues    []string `json:"queues" example:"[\"delivery\",\"stagecoach\"]" doc:"Queues that it polls"`
}

// Outside is how the last calls to an external system went.
type Outside struct {
	Name       string   `json:"name" example:"yandex" doc:"backup: its last success is the time of the last complete backup"`
	Answers    bool     `json:"answers" doc:"Whether the last call succeeded"`
	SuccessAge *float64 `json:"last_success_age_seconds" example:"3.2" doc:"null: it never did"`
	Error      *string  `json:"last_error" example:"YANDEX_TIMEOUT" doc:"A code; null: there was none"`
	ErrorAge   *float64 `json:"last_error_age_seconds" example:"90"`
	FailingFor *float64 `json:"failing_for_seconds" example:"90" doc:"null: it is not failing"`
}

// WorkloadError counts the failures of one workload with one code.
type WorkloadError struct {
	Workload string `json:"workload" enum:"delivery,task,download,transaction"`
	Code     string `json:"code" example:"TELEGRAM_UNAVAILABLE" doc:"For a transaction: its error message"`
	Count    int64  `json:"count" example:"3"`
}

// OpenAlert is an alert that has not ended.
type OpenAlert struct {
	Kind     string    `json:"kind" example:"storage_unreachable"`
	OpenedAt time.Time `json:"opened_at" example:"2026-03-01T12:00:00Z"`
}

// Stop is a switch that blocks payments.
type Stop struct {
	Name   string     `json:"name" enum:"pause,hold"`
	Since  *time.Time `json:"since" example:"2026-03-01T12:00:00Z"`
	Reason string     `json:"reason" example:"DAILY_LIMIT_REACHED"`
}
