package temporalio

import (
	"errors"

	"go.temporal.io/sdk/temporal"
)

// interrupted is the type of the error by which Interrupted ends an execution. Nobody but the workflow gets it.
const interrupted = "INTERRUPTED"

// Interrupted ends the execution of an activity whose attempt has not failed: its worker stops, or an operator has
// stopped it. The workflow executes the activity again, with the tries that are left. used is how many tries have failed
// so far, in all executions together.
func Interrupted(used int) error {
	return temporal.NewApplicationErrorWithOptions("the attempt was interrupted and has not failed", interrupted,
		temporal.ApplicationErrorOptions{
			NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{used},
		})
}

// InterruptedIn reads what Interrupted has put into err; false: the execution has ended otherwise.
func InterruptedIn(err error) (used int, ok bool) {
	end, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || end.Type() != interrupted {
		return 0, false
	}
	err = end.Details(&used)
	return used, err == nil
}
