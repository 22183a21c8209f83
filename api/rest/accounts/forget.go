package accounts

import (
	"context"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/task"
)

// forgottenPage is how many of a person's live entities are looked at in one go.
const forgottenPage = 100

var forgetUser = server.Operation{
	Id: "forget-user", Method: http.MethodPost, Path: "/v1/users/{id}/forget", Tag: "Users", Access: server.ForAdmins,
	Scope: account.ScopeUsers, Subject: "user",
	Summary: "Make a person anonymous for good",
	Faults:  []fault.Code{fault.UserNotFound, fault.OwnAccess, fault.LastAdmin},
	Description: "Name, Telegram account, tokens, conversations, notices, memberships, links and comments on tasks are deleted at once; the user is BLOCKED and " +
		"cannot be changed any more. Live deliveries and downloads are cancelled, tasks in work are NEW again. Titles, and what proves where money went, stay. " +
		"When Temporal is away the record has forgotten and the answer is an error: the same request again ends what runs. Once more changes nothing.",
}

func (h *handlers) forgetUser(ctx context.Context, in *userInput) (*server.Answer[shape.User], error) {
	id, err := server.UserID(in.ID)
	if err != nil {
		return nil, err
	}

	admin := server.Caller(ctx)
	if id == admin.ID {
		return nil, fault.New(fault.OwnAccess, "another administrator has to forget you").WithField("id")
	}

	user, err := h.Store.Forget(ctx, id, admin.ID)
	if err != nil {
		return nil, err
	}

	h.Audit(ctx, admin, forgetUser, in.ID, account.OutcomeDone)

	for _, end := range []func(context.Context, account.User) error{h.endDeliveries, h.endDownloads, h.giveBackTasks} {
		if err := end(ctx, user); err != nil {
			return nil, err
		}
	}
	return server.Answered(userFrom(user)), nil
}

// endDeliveries tells the workflows of a user's live deliveries to end.
func (h *handlers) endDeliveries(ctx context.Context, user account.User) error {
	return eachLive(func(before int64) ([]delivery.Job, error) {
		return h.Store.Jobs(ctx, delivery.Filter{UserID: user.ID, Live: true, Before: before, Limit: forgottenPage})
	}, func(job delivery.Job) (int64, error) { return job.ID, h.deliveries.Stop(ctx, job) })
}

// endDownloads tells the workflows of a user's active downloads to end: the record has the wish already.
func (h *handlers) endDownloads(ctx context.Context, user account.User) error {
	return eachLive(func(before int64) ([]download.Download, error) {
		return h.Store.Downloads(
			ctx, download.Filter{UserID: user.ID, Active: true, Before: before, Limit: forgottenPage},
		)
	}, func(job download.Download) (int64, error) { return job.ID, h.downloads.TellCancel(ctx, job) })
}

// giveBackTasks lets others claim what a user works on. Tasks that are NEW or STUCK stay assigned, as nobody but the
// creator may take the assignee away: the creator cancels them, or others take them over when they are stuck.
func (h *handlers) giveBackTasks(ctx context.Context, user account.User) error {
	return eachLive(func(before int64) ([]task.Task, error) {
		return h.Store.Tasks(ctx, task.Filter{AssigneeID: user.ID, Live: true, Before: before, Limit: forgottenPage})
	}, func(t task.Task) (int64, error) {
		if t.State != lifecycle.TaskInProgress && t.State != lifecycle.TaskBlocked {
			return t.ID, nil
		}
		_, err := h.tasks.Status(ctx, user, t.ID, lifecycle.TaskNew, "The assignee was removed.", "")
		// it has moved on meanwhile
		if fault.CodeOf(err) == fault.InvalidTransition || fault.CodeOf(err) == fault.InsufficientAccess {
			err = nil
		}
		return t.ID, err
	})
}

// eachLive goes through pages of entities, the newest first, and does something with each.
func eachLive[T any](page func(before int64) ([]T, error), do func(T) (id int64, err error)) error {
	for before := int64(0); ; {
		entities, err := page(before)
		if err != nil {
			return err
		}

		for _, entity := range entities {
			if before, err = do(entity); err != nil {
				return err
			}
		}

		if len(entities) < forgottenPage {
			return nil
		}
	}
}
