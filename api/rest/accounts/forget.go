package accounts

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

func (h *handlers) forgetUser(ctx context.Context, in *UserPath) (none shape.User, err error) {
	id := server.PathID(in.ID)
	admin := server.Caller(ctx)
	if id == admin.ID {
		return none, fault.New(fault.OwnAccess, "another administrator has to forget you").WithField("id")
	}

	user, err := h.Store.Forget(ctx, id, admin.ID)
	if err != nil {
		return none, err
	}

	h.Done(ctx, in.ID)

	for _, workload := range h.workloads {
		if err := workload.Release(ctx, user); err != nil {
			return none, err
		}
	}

	return userFrom(user), nil
}
