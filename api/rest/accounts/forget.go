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

	user, ended, err := h.Store.Operations.Forget(ctx, id, admin.ID)
	if err != nil {
		return none, err
	}
	if err := h.ended(ctx, in.ID, true, ended); err != nil {
		return none, err
	}
	return userFrom(user), h.release(ctx, user)
}
