package rest

import (
	"cmp"
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

type callerKey struct{}

// caller is who asks; zero in an operation for anyone.
func caller(ctx context.Context) store.User {
	user, _ := ctx.Value(callerKey{}).(store.User)
	return user
}

// admit lets only those through to an operation who may call it. It asks the record each time: a person who was blocked
// is out at once.
func (s *server) admit(op operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if op.access == forAnyone {
			next(ctx)
			return
		}
		user, err := s.authenticate(ctx.Context(), ctx.Header("Authorization"))
		if err == nil {
			noteOf(ctx.Context()).user = userHash(user.ID)
			err = s.o.Requests.Take(ctx.Context(), user)
		}
		if err == nil {
			err = permit(user, op.access)
			if err != nil {
				s.audit(ctx.Context(), user, op, cmp.Or(ctx.Param("id"), ctx.Param("hash")), store.OutcomeRefused)
			}
		}
		if err != nil {
			p := s.problem(ctx.Context(), err)
			if p.Code == fault.Unauthenticated {
				p.header.Set("WWW-Authenticate", `Bearer realm="stagecoach"`)
			}
			_, w := humago.Unwrap(ctx)
			p.write(w)
			return
		}
		next(huma.WithValue(ctx, callerKey{}, user))
	}
}

// authenticate finds whose token stands in an Authorization header.
func (s *server) authenticate(ctx context.Context, header string) (store.User, error) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return store.User{}, fault.New(fault.Unauthenticated, "send the header Authorization: Bearer <token>")
	}
	remote := noteOf(ctx).remote
	if err := s.o.Guesses.Check(remote, token); err != nil {
		return store.User{}, err
	}
	user, err := s.o.Store.UserByToken(ctx, token)
	switch {
	case err == nil:
		s.o.Guesses.Right(token)
	case fault.CodeOf(err) == fault.UserNotFound:
		s.o.Guesses.Wrong(remote, token)
		err = fault.New(fault.Unauthenticated, "this token is not known")
	}
	return user, err
}

func permit(user store.User, needed access) error {
	switch {
	case user.Status != store.UserActive:
		return fault.New(fault.UserNotActive, "this user is %s", user.Status).With("status", user.Status)
	case needed == forAdmins && !user.IsAdmin():
		return fault.New(fault.InsufficientAccess, "this is for administrators")
	}
	return nil
}

// audit writes what an administrator did, or what somebody was refused. The answer does not hang on it: the thing is
// done, or refused, already.
func (s *server) audit(ctx context.Context, user store.User, op operation, id, outcome string) {
	entry := store.AuditEntry{ActorID: &user.ID, Action: op.id, Outcome: outcome, Door: store.DoorHTTP}
	if _, ok := parseID(id); (ok || isHash(id)) && op.subject != "" {
		entry.Subject = op.subject + "/" + id
	}
	if err := s.o.Store.Audit(context.WithoutCancel(ctx), entry); err != nil {
		s.o.Log.Error("an entry of the audit log is lost", "request", noteOf(ctx).id, "action", op.id, "outcome", outcome, "error", err)
	}
}

// refusal gives the error as it came, and audits it when somebody reached for what is not theirs, though that is
// answered as if there were nothing.
func (s *server) refusal(ctx context.Context, op operation, id string, err error) error {
	reached := false
	number, _ := parseID(id)
	switch code := fault.CodeOf(err); {
	case code == fault.InsufficientAccess:
		reached = true
	case code == fault.TaskNotFound:
		_, missing := s.o.Store.TaskByID(ctx, 0, number)
		reached = missing == nil
	case code == fault.WorkspaceNotFound:
		_, missing := s.o.Store.WorkspaceByID(ctx, number)
		reached = missing == nil
	case code == fault.DownloadNotFound:
		_, missing := s.o.Store.DownloadByID(ctx, number)
		reached = missing == nil
	}
	if reached {
		s.audit(ctx, caller(ctx), op, id, store.OutcomeRefused)
	}
	return err
}
