package temporalio

import (
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
)

// Search attributes that every workload sets if they apply.
var (
	EntityAttribute    = temporal.NewSearchAttributeKeyKeyword("Entity")    // the row's id, as in the API
	StageAttribute     = temporal.NewSearchAttributeKeyKeyword("Stage")     // the state
	WaitsForAttribute  = temporal.NewSearchAttributeKeyKeyword("WaitsFor")  // one of lifecycle.WaitsFor…
	OwnerAttribute     = temporal.NewSearchAttributeKeyKeyword("Owner")     // a user id
	AttentionAttribute = temporal.NewSearchAttributeKeyBool("Attention")    // true: a person should check; else absent
	WorkspaceAttribute = temporal.NewSearchAttributeKeyKeyword("Workspace") // a workspace id
	AssigneeAttribute  = temporal.NewSearchAttributeKeyKeyword("Assignee")  // a user id
	DeadlineAttribute  = temporal.NewSearchAttributeKeyTime("DeadlineAt")   // when the state times out
)

// Refusal is the error with which a workflow refuses an update: the code as the type, with the details, non-retryable.
func Refusal(f *fault.Error) error {
	options := temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign}
	if len(f.Details) > 0 {
		options.Details = []any{f.Details}
	}
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Code), options)
}

// Failed is the error that closes a failed entity's workflow: operators find each kind by its type, and it does not
// count as an error of the program.
func Failed(message, kind string) error {
	return temporal.NewApplicationErrorWithOptions(message, kind,
		temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign})
}

// RefusalIn reads the fault that Refusal or an activity put into err; nil: none.
func RefusalIn(err error) *fault.Error {
	refusal, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || endedMeanwhile(err) {
		return nil
	}

	f := fault.New(fault.Code(refusal.Type()), "%s", refusal.Message())
	if refusal.HasDetails() {
		if err := refusal.Details(&f.Details); err != nil {
			f.Details = nil // an operator's tool may have put any text there
		}
	}
	return f
}

// Invalid reports whether Temporal rejects a request as invalid: a later attempt fails too.
func Invalid(err error) bool {
	_, invalid := errors.AsType[*serviceerror.InvalidArgument](err)
	return invalid
}

// Paused reports whether Temporal rejects an update because an operator has paused the workflow.
func Paused(err error) bool {
	_, paused := errors.AsType[*serviceerror.FailedPrecondition](err)
	return paused
}

// Unreachable is the fault of a request that Temporal has not executed: TEMPORAL_UNAVAILABLE, VALIDATION_ERROR if the
// request is Invalid, or WORKFLOW_PAUSED.
func Unreachable(err error) error {
	if Paused(err) {
		return fault.New(fault.WorkflowPaused, "an operator has paused the workflow: try again when it is resumed").WithCause(err)
	}
	if Invalid(err) {
		return fault.New(
			fault.Validation, "the workflow service refuses this request as invalid: it may hold an id that is too long",
		).WithCause(err)
	}
	return fault.New(fault.TemporalUnavailable, "the workflow service cannot be reached: try again").Retry().WithCause(err)
}
