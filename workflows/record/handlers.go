package record

import (
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
)

// Answer sets the handler of the state query.
func Answer[View any](ctx workflow.Context, view func() View) error {
	return workflow.SetQueryHandler(ctx, lifecycle.StateQuery, func() (View, error) { return view(), nil })
}

// Updates sets the handlers of updates, one for each action. validate rejects an update without a trace in the history;
// input describes an update's fields in the Web UI.
func Updates[Action ~string, In, View any](
	ctx workflow.Context, actions []Action, input string, validate func(workflow.Context, Action, In) error,
	update func(workflow.Context, Action, In) (View, error),
) error {
	for _, action := range actions {
		err := workflow.SetUpdateHandlerWithOptions(
			ctx, string(action),
			func(ctx workflow.Context, in In) (View, error) { return update(ctx, action, in) },
			workflow.UpdateHandlerOptions{
				Validator:   func(ctx workflow.Context, in In) error { return validate(ctx, action, in) },
				Description: string(action) + " " + input,
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}
