package shape

import (
	"encoding/json"
	"time"

	"stagecoach/internal/lifecycle"
)

// Status is the state of the service.
type Status struct {
	At                  time.Time    `json:"at" example:"2026-03-01T12:00:00Z"`
	QueueDepth          int64        `json:"queue_depth" example:"4" doc:"Deliveries that wait for a worker"`
	WorkerHeartbeatAge  *float64     `json:"worker_heartbeat_age_seconds" example:"3.2" doc:"Since a worker was last heard of; null when there is none"`
	OAuthTokenExpiresIn *float64     `json:"oauth_token_expires_in_seconds" example:"86400" doc:"Of the file storage; null when unknown or endless"`
	TopErrors           []ErrorCount `json:"top_errors" doc:"Of the last 24 hours"`
	Stuck               bool         `json:"stuck" doc:"Whether any job is"`
	StuckJobs           []string     `json:"stuck_jobs" doc:"Jobs in a worker's hands whose heartbeat is too old"`

	// InState counts the rows of each workload in each state. In JSON each workload has a field, named by
	// lifecycle.Workload.Counted.
	InState map[string]map[string]int64 `json:"-"`

	AboveLimits []AboveLimit `json:"above_limits" doc:"Users who have more than a limit allows, because it was lowered or is new; up to 20 of each limit, as of the last minute"`

	QBittorrent *Qbittorrent `json:"qbittorrent" doc:"null when downloads are off"`

	NeedsReview     int64           `json:"transactions_needing_review" example:"0"`
	TemporalAnswers bool            `json:"temporal_answers" doc:"Else queues are not known, and workers only as they say themselves"`
	Queues          []TaskQueue     `json:"queues"`
	Workers         []Worker        `json:"workers" doc:"The processes that were heard of lately"`
	Outside         []Outside       `json:"outside_systems" doc:"How the calls that were made anyway went; nobody asks for this"`
	Errors          []WorkloadError `json:"errors" doc:"Of all workloads, in the last 24 hours"`
	Alerts          []OpenAlert     `json:"open_alerts"`
	Stops           []Stop          `json:"payments_stopped_by" doc:"An operator's pause stops payments, a hold purchases; empty: nothing does"`
	OpenFindings    int64           `json:"open_findings" example:"0" doc:"Differences between the record and Temporal about which nothing was done yet"`
	Findings        []Finding       `json:"last_findings" doc:"The newest first; /v1/findings has all"`
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

// Qbittorrent is how the torrent client answers.
type Qbittorrent struct {
	Answers   bool     `json:"answers" doc:"Whether it answered the last poll, and that was not long ago"`
	AnswerAge *float64 `json:"last_answer_age_seconds" example:"3.2" doc:"null when it has never answered"`
	Error     *string  `json:"error" example:"PROVIDER_UNAUTHORIZED" doc:"A code; null unless the last poll failed"`
}

// AboveLimit is a user who has more than a limit allows.
type AboveLimit struct {
	UserID  string `json:"user_id" example:"7"`
	Limit   string `json:"limit" example:"tasks" doc:"As in the details of QUOTA_EXCEEDED; members: of a workspace of the user's"`
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
	Depth     int64   `json:"depth" example:"4" doc:"What waits"`
	OldestAge float64 `json:"oldest_age_seconds" example:"12.5"`
	Workers   int     `json:"workers" example:"2" doc:"That ask for work"`
}

// Worker is a process that polls task queues.
type Worker struct {
	Identity  string   `json:"identity" example:"4711@host@worker"`
	Service   *string  `json:"service" example:"worker" doc:"worker or api; null: only Temporal knows it"`
	Version   *string  `json:"version" example:"0.1.0"`
	Build     *string  `json:"build" example:"3f2a1c" doc:"Of a worker deployment; null: none"`
	LastHeard float64  `json:"last_heard_seconds" example:"1.2"`
	Carries   *int     `json:"carries" example:"3" doc:"Activities that run in it; null: not known"`
	Queues    []string `json:"queues" example:"[\"delivery\",\"stagecoach\"]" doc:"Where it asks for work"`
}

// Outside is how the last calls to an outside system went.
type Outside struct {
	Name       string   `json:"name" example:"yandex"`
	Answers    bool     `json:"answers" doc:"Whether the last call succeeded"`
	SuccessAge *float64 `json:"last_success_age_seconds" example:"3.2" doc:"null: it never did"`
	Error      *string  `json:"last_error" example:"YANDEX_TIMEOUT" doc:"A code; null: there was none"`
	ErrorAge   *float64 `json:"last_error_age_seconds" example:"90"`
	FailingFor *float64 `json:"failing_for_seconds" example:"90" doc:"null: it does not fail"`
}

// WorkloadError counts the failures of one workload with one code.
type WorkloadError struct {
	Workload string `json:"workload" enum:"delivery,task,download,transaction"`
	Code     string `json:"code" example:"TELEGRAM_UNAVAILABLE" doc:"Of a transaction: its error message"`
	Count    int64  `json:"count" example:"3"`
}

// OpenAlert is an alert that has not ended.
type OpenAlert struct {
	Kind     string    `json:"kind" example:"storage_unreachable"`
	OpenedAt time.Time `json:"opened_at" example:"2026-03-01T12:00:00Z"`
}

// Stop is a switch that stops payments.
type Stop struct {
	Name   string     `json:"name" enum:"pause,hold"`
	Since  *time.Time `json:"since" example:"2026-03-01T12:00:00Z"`
	Reason string     `json:"reason" example:"DAILY_LIMIT_REACHED"`
}
