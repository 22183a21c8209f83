package tasks

import (
	"context"
	"encoding/json"
	"html"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// judges reports whether a step approves or rejects a result.
func judges(step string) bool {
	return step == string(lifecycle.TaskActionApprove) || step == string(lifecycle.TaskActionReject)
}

// submit submits what a person wrote, as text. Richer results are submitted through the pages and the API.
func (h *handlers) submit(ctx context.Context, user account.User, id int64, written, key string) error {
	result, err := json.Marshal(written)
	if err == nil {
		_, err = h.tasks.Submit(ctx, user, id, result, tasks.Said{Comment: written, Key: key})
	}
	return err
}

// judge approves or rejects the submission that a person was shown.
func (h *handlers) judge(
	ctx context.Context, user account.User, id int64, action lifecycle.TaskAction, submission string, said tasks.Said,
) error {
	number, _ := chat.ReadNumber(submission)
	_, err := h.tasks.Review(ctx, user, id, action, number, said)
	return err
}

// resultOf shows the newest result of a task.
func (h *handlers) resultOf(ctx context.Context, r *chat.Request, t task.Task) (string, error) {
	newest, err := h.tasks.Submissions(ctx, r.User, t.ID, 0, 1)
	if err != nil || len(newest) == 0 {
		return "", err
	}
	return "<pre>" + html.EscapeString(excerpt(string(newest[0].Result), descriptionLength)) + "</pre>", nil
}
