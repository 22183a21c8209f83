package about

import (
	"context"
	"fmt"

	"stagecoach/api/mcp/tool"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

type ending struct {
	Workload  workload `json:"workload" jsonschema:"delivery or download; end a task with task_update"`
	ID        tool.ID  `json:"id"`
	KeepFiles bool     `json:"keep_files,omitempty" jsonschema:"of a download: keep the files"`
}

type ended struct {
	ID    tool.ID `json:"id"`
	State string  `json:"state"`
}

func cancel(workloads []tool.Part) tool.Tool {
	var scopes []account.Scope // of the workloads that support it
	for _, part := range workloads {
		for _, w := range lifecycle.Workloads {
			if part.Cancel != nil && w.Name == part.Workload {
				scopes = append(scopes, account.Scope(w.Scope))
			}
		}
	}

	return tool.New(tool.About{
		Name: "cancel", OneOf: scopes, Destroys: true, Repeatable: true,
		Description: "Cancels one of your deliveries or downloads.",
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
