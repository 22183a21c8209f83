package shape

import "stagecoach/internal/fault"

// DryRun says what a request would do now. It promises nothing: the next moment may be another.
type DryRun struct {
	DryRun         bool           `json:"dry_run" doc:"Always true: nothing was changed"`
	Allowed        bool           `json:"allowed" doc:"Whether the request would be accepted"`
	ChangesNothing bool           `json:"changes_nothing" doc:"It would be accepted and change nothing"`
	To             string         `json:"to" example:"DONE" doc:"The state that it would lead to; empty when it would be refused"`
	Version        *int64         `json:"version" example:"5" doc:"The number of the newest event that the answer is based on; null: there is nothing yet"`
	Code           *fault.Code    `json:"code" example:"REVIEW_REQUIRED" doc:"Why it would be refused; null when it would be accepted"`
	Reason         string         `json:"reason" example:"status needs: the submission is approved" doc:"The same as a sentence"`
	Details        map[string]any `json:"details" doc:"Those of the refusal; depend on the code"`
}
