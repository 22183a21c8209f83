package accounts

import (
	"context"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

var forgetUser = server.Operation{
	Id: "forget-user", Method: http.MethodPost, Path: "/v1/users/{id}/forget", Tag: "Users", Access: server.ForAdmins,
	Scope: account.ScopeUsers, Subject: "user",
	Summary: "Make a person anonymous for good",
	Faults:  []fault.Code{fault.UserNotFound, fault.OwnAccess, fault.LastAdmin},
	Description: "Name, Telegram account, tokens, conversations, notices, memberships, links and comments on tasks are deleted at once; the user is BLOCKED and " +
		"cannot be changed any more. Live deliveries and downloads are cancelled, tasks in work are NEW again. Titles, and what proves where money went, stay. " +
		"When Temporal is away the record has forgotten and the answer is an error: the same request again ends what runs. Once more changes nothing.",
}

func (h *handlers) forgetUser(ctx context.Context, in *userInput) (none shape.User, err error) {
	id := server.PathID(in.ID)
	admin := server.Caller(ctx)
	if id == admin.ID {
		return none, fault.New(fault.OwnAccess, "another administrator has to forget you").WithField("id")
	}

	user, err := h.Store.Forget(ctx, id, admin.ID)
	if err != nil {
		return none, err
	}

	h.Audit(ctx, admin, forgetUser, in.ID, account.OutcomeDone)

	for _, workload := range h.workloads {
		if err := workload.Release(ctx, user); err != nil {
			return none, err
		}
	}

	return userFrom(user), nil
}
