package record

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"
)

// ShowDetails sets a workflow's current details: the title, then one paragraph for each nonempty text. It costs no
// event. The title repeats the static summary, which Temporal drops when a workflow continues as new.
func ShowDetails(ctx workflow.Context, title string, paragraphs ...string) {
	details := title
	for _, paragraph := range paragraphs {
		if paragraph != "" {
			details += "\n\n" + paragraph
		}
	}
	workflow.SetCurrentDetails(ctx, details)
}

// WaitsFor is the paragraph about what a workflow waits for: its value of waits_for, and the meaning. It is empty if
// the workflow waits for nothing.
func WaitsFor(value, meaning string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("Waits for `%s`: %s.", value, meaning)
}

// EndsAt is the paragraph about when a state times out; empty if it does not.
func EndsAt(deadline *time.Time) string {
	if deadline == nil {
		return ""
	}
	return "Its time ends at " + deadline.UTC().Format(time.RFC3339) + "."
}
