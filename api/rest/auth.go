package rest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// principal is who asks, and with which token.
type principal struct {
	user  store.User
	token store.Token
}

// grants gives the scopes that the token has in its user's hands.
func (p principal) grants() []store.Scope { return p.token.Grants(p.user.Role) }

// require refuses scopes that the token does not grant.
func (p principal) require(scopes ...store.Scope) error {
	granted := p.grants()
	missing := slices.DeleteFunc(slices.Clone(scopes), func(s store.Scope) bool { return slices.Contains(granted, s) })
	if len(missing) == 0 {
		return nil
	}
	return fault.New(fault.InsufficientScope, "this token lacks the scope %s", joined(missing)).With("missing", missing)
}

func joined(scopes []store.Scope) string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return strings.Join(names, ", ")
}

type principalKey struct{}

func principalOf(ctx context.Context) principal {
	p, _ := ctx.Value(principalKey{}).(principal)
	return p
}

// caller is who asks; zero in an operation for anyone.
func caller(ctx context.Context) store.User { return principalOf(ctx).user }

// admit lets only those through to an operation who may call it. It asks the record each time: a person who was blocked
// is out at once.
func (s *server) admit(op operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if op.access == forAnyone {
			next(ctx)
			return
		}

		who, err := s.authenticate(ctx.Context(), ctx.Header("Authorization"))
		if err == nil {
			noteOf(ctx.Context()).user = userHash(who.user.ID)
			err = s.o.Requests.Take(ctx.Context(), who.user)
		}

		if err == nil {
			err = who.permit(op)
			if err != nil {
				s.audit(ctx.Context(), who.user, op, cmp.Or(ctx.Param("id"), ctx.Param("hash")), store.OutcomeRefused)
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

		ctx = huma.WithValue(ctx, principalKey{}, who)
		if who.user.IsAdmin() { // administrators do not queue behind users
			ctx = huma.WithContext(ctx, store.Reserved(ctx.Context()))
		}

		next(ctx)
	}
}

// authenticate finds whose token stands in an Authorization header.
func (s *server) authenticate(ctx context.Context, header string) (who principal, err error) {
	token := bearerToken(header)
	if token == "" {
		return who, fault.New(fault.Unauthenticated, "send the header Authorization: Bearer <token>")
	}

	remote := noteOf(ctx).remote
	if err := s.o.Guesses.Check(remote, token); err != nil {
		return who, err
	}

	who.user, who.token, err = s.o.Store.Authenticate(store.Reserved(ctx), token) // who it is has to be known first
	switch {
	case err == nil:
		s.o.Guesses.Right(token)
	case fault.CodeOf(err) == fault.Unauthenticated:
		s.o.Guesses.Wrong(remote, token)
	}

	return who, err
}

// bearerToken gives the token of an Authorization header; empty: there is none.
func bearerToken(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, bearer) {
		return ""
	}
	return strings.TrimSpace(token)
}

// permit refuses an operation that is not for this user, or not for this token.
func (p principal) permit(op operation) error {
	switch {
	case p.user.Status != store.UserActive:
		return fault.New(fault.UserNotActive, "this user is %s", p.user.Status).With("status", p.user.Status)
	case op.access == forAdmins && !p.user.IsAdmin():
		return fault.New(fault.InsufficientAccess, "this is for administrators")
	case op.scope == anyScope:
		return nil
	}
	return p.require(op.scope)
}

// audit writes what an administrator did, or what somebody was refused. The answer does not hang on it: the thing is
// done, or refused, already.
func (s *server) audit(ctx context.Context, user store.User, op operation, id, outcome string) {
	entry := store.AuditEntry{ActorID: &user.ID, Action: op.id, Outcome: outcome, Door: store.DoorHTTP}
	if _, ok := parseID(id); (ok || isHash(id)) && op.subject != "" {
		entry.Subject = op.subject + "/" + id
	}
	if err := s.o.Store.Audit(context.WithoutCancel(ctx), entry); err != nil {
		s.o.Log.Error(
			"an entry of the audit log is lost", "request", noteOf(ctx).id, "action", op.id, "outcome", outcome, "error", err,
		)
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
