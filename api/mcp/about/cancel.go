package about

import (
	"context"
	"fmt"

	"stagecoach/api/mcp/tool"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

type ending struct {
	Workload  workload `json:"workload" jsonschema:"delivery or download; a task is ended by task_update"`
	ID        tool.ID  `json:"id"`
	KeepFiles bool     `json:"keep_files,omitempty" jsonschema:"of a download: leave what has come"`
}

type ended struct {
	ID    tool.ID `json:"id"`
	State string  `json:"state"`
}

func cancel(workloads []tool.Part) tool.Tool {
	return tool.New(tool.About{
		Name: "cancel", OneOf: cancelScopes(workloads), Destroys: true, Repeatable: true,
		Description: "Ends a delivery or a download of yours.",
	}, func(ctx context.Context, c *tool.Call, in ending) (answer tool.Answer[ended], err error) {
		part, err := partOf(workloads, in.Workload, func(p tool.Part) bool { return p.Cancel != nil })
		if err != nil {
			return answer, err
		}

		state, err := part.Cancel(ctx, c, string(in.ID), in.KeepFiles)
		return tool.Answer[ended]{
			Value:   ended{in.ID, state},
			Summary: fmt.Sprintf("The %s %s is %s.", in.Workload, in.ID, state),
		}, err
	})
}

// cancelScopes are those of the workloads of which one can be ended.
func cancelScopes(workloads []tool.Part) (scopes []account.Scope) {
	for _, part := range workloads {
		for _, w := range lifecycle.Workloads {
			if part.Cancel != nil && w.Name == part.Workload {
				scopes = append(scopes, account.Scope(w.Scope))
			}
		}
	}
	return scopes
}
