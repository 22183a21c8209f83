package record

import (
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"
)

// ShowDetails sets the current details of a workflow: the title, then one paragraph for each text that is not empty. It
// costs no event. The title repeats the static summary, which Temporal drops when a workflow continues as new.
func ShowDetails(ctx workflow.Context, title string, paragraphs ...string) {
	details := title
	for _, paragraph := range paragraphs {
		if paragraph != "" {
			details += "\n\n" + paragraph
		}
	}
	workflow.SetCurrentDetails(ctx, details)
}

// WaitsFor is the paragraph that says what a workflow waits for; empty when it waits for nothing.
func WaitsFor(what string) string {
	if strings.TrimSpace(what) == "" {
		return ""
	}
	return "Waits for " + what + "."
}

// EndsAt is the paragraph that says when a state ends by itself; empty when it does not.
func EndsAt(deadline *time.Time) string {
	if deadline == nil {
		return ""
	}
	return "Its time ends at " + deadline.UTC().Format(time.RFC3339) + "."
}
