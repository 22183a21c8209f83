package temporalio

import (
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
)

// Search attributes that every workload sets where they apply.
var (
	EntityAttribute    = temporal.NewSearchAttributeKeyKeyword("Entity")    // the id of the row, as the API shows it
	StageAttribute     = temporal.NewSearchAttributeKeyKeyword("Stage")     // the state
	WaitsForAttribute  = temporal.NewSearchAttributeKeyKeyword("WaitsFor")  // one of lifecycle.WaitsFor…
	OwnerAttribute     = temporal.NewSearchAttributeKeyKeyword("Owner")     // a user id
	AttentionAttribute = temporal.NewSearchAttributeKeyBool("Attention")    // true: a person should look; else absent
	WorkspaceAttribute = temporal.NewSearchAttributeKeyKeyword("Workspace") // a workspace id
	AssigneeAttribute  = temporal.NewSearchAttributeKeyKeyword("Assignee")  // a user id
	DeadlineAttribute  = temporal.NewSearchAttributeKeyTime("DeadlineAt")   // when the state's time is up
)

// Refusal is the error with which a workflow refuses an update: the code as the type, with the details, non-retryable.
func Refusal(f *fault.Error) error {
	options := temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign}
	if len(f.Details) > 0 {
		options.Details = []any{f.Details}
	}
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Code), options)
}

// Failed is the error that closes the workflow of a failed entity: operators find each kind by its type, and it does
// not count as an error of the program.
func Failed(message, kind string) error {
	return temporal.NewApplicationErrorWithOptions(message, kind,
		temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign})
}

// RefusalIn reads the fault that Refusal or an activity put into err; nil: none.
func RefusalIn(err error) *fault.Error {
	refusal, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
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

// Invalid says whether Temporal refuses a request as invalid: a later attempt fails too.
func Invalid(err error) bool {
	_, invalid := errors.AsType[*serviceerror.InvalidArgument](err)
	return invalid
}

// Paused says whether Temporal refuses an update because an operator has paused the workflow.
func Paused(err error) bool {
	_, paused := errors.AsType[*serviceerror.FailedPrecondition](err)
	return paused
}

// Unreachable is the fault of a request that Temporal has not carried out: TEMPORAL_UNAVAILABLE, VALIDATION_ERROR where
// the request is Invalid, or WORKFLOW_PAUSED.
func Unreachable(err error) error {
	if Paused(err) {
		return fault.New(fault.WorkflowPaused, "an operator has paused the workflow: try again when it goes on").WithCause(err)
	}
	if Invalid(err) {
		return fault.New(
			fault.Validation, "the workflow service refuses this request as invalid: it may hold an id that is too long",
		).WithCause(err)
	}
	return fault.New(fault.TemporalUnavailable, "the workflow service cannot be reached: try again").Retry().WithCause(err)
}
