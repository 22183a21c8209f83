package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Principal is who asks, and with which token.
type Principal struct {
	User  account.User
	Token account.Token
}

// grants gives the scopes that the token has in its user's hands.
func (p Principal) grants() []account.Scope { return p.Token.Grants(p.User.Role) }

// Require refuses scopes that the token does not grant.
func (p Principal) Require(scopes ...account.Scope) error {
	granted := p.grants()
	missing := slices.DeleteFunc(slices.Clone(scopes), func(s account.Scope) bool { return slices.Contains(granted, s) })
	if len(missing) == 0 {
		return nil
	}
	return fault.New(fault.InsufficientScope, "this token lacks the scope %s", joined(missing)).With("missing", missing)
}

func joined(scopes []account.Scope) string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return strings.Join(names, ", ")
}

type principalKey struct{}

func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// Caller is who asks; zero in an operation for anyone.
func Caller(ctx context.Context) account.User { return PrincipalOf(ctx).User }

// admit lets only those through to an operation who may call it.
func (s *Server) admit(op Operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if op.Access == ForAnyone {
			next(ctx)
			return
		}

		subject := cmp.Or(ctx.Param("id"), ctx.Param("hash"))
		who, err := s.Admission(ctx.Context(), ctx.Header("Authorization"), op, subject)
		if err != nil {
			_, w := humago.Unwrap(ctx)
			s.Refuse(ctx.Context(), w, err, `Bearer realm="stagecoach"`)
			return
		}

		ctx = huma.WithValue(ctx, principalKey{}, who)
		if who.User.IsAdmin() { // administrators do not queue behind users
			ctx = huma.WithContext(ctx, core.Reserved(ctx.Context()))
		}

		next(ctx)
	}
}

// Admission finds who sends a request, and refuses an operation that they may not call, or call again so soon. It asks
// the record each time: a person who was blocked is out at once.
func (s *Server) Admission(ctx context.Context, authorization string, op Operation, subject string) (Principal, error) {
	who, err := s.authenticate(ctx, authorization)
	if err != nil {
		return who, err
	}

	noteOf(ctx).user = userHash(who.User.ID)
	if err := s.Requests.Take(ctx, who.User); err != nil {
		return who, err
	}

	if err := who.Permit(op); err != nil {
		s.Audit(ctx, who.User, op, subject, account.OutcomeRefused)
		return who, err
	}
	return who, nil
}

// Refuse answers that a request is not admitted. challenge says how a client without a valid token may identify itself.
func (s *Server) Refuse(ctx context.Context, w http.ResponseWriter, err error, challenge string) {
	p := s.problem(ctx, err)
	if p.Code == fault.Unauthenticated {
		p.header.Set("WWW-Authenticate", challenge)
	}
	p.Write(w)
}

// authenticate finds whose token stands in an Authorization header.
func (s *Server) authenticate(ctx context.Context, header string) (who Principal, err error) {
	token := BearerToken(header)
	if token == "" {
		return who, fault.New(fault.Unauthenticated, "send the header Authorization: Bearer <token>")
	}

	remote := noteOf(ctx).remote
	if err := s.Guesses.Check(remote, token); err != nil {
		return who, err
	}

	who.User, who.Token, err = s.Store.Authenticate(core.Reserved(ctx), token) // who it is has to be known first
	switch {
	case err == nil:
		s.Guesses.Right(token)
	case fault.CodeOf(err) == fault.Unauthenticated:
		s.Guesses.Wrong(remote, token)
	}

	return who, err
}

// BearerToken gives the token of an Authorization header; empty: there is none.
func BearerToken(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, bearer) {
		return ""
	}
	return strings.TrimSpace(token)
}

// Permit refuses an operation that is not for this user, or not for this token.
func (p Principal) Permit(op Operation) error {
	switch {
	case p.User.Status != account.UserActive:
		return fault.New(fault.UserNotActive, "this user is %s", p.User.Status).With("status", p.User.Status)
	case op.Access == ForAdmins && !p.User.IsAdmin():
		return fault.New(fault.InsufficientAccess, "this is for administrators")
	case op.Scope == AnyScope:
		return nil
	}
	return p.Require(op.Scope)
}

// Audit writes what an administrator did, or what somebody was refused. The answer does not hang on it: the thing is
// done, or refused, already.
func (s *Server) Audit(ctx context.Context, user account.User, op Operation, id, outcome string) {
	entry := account.AuditEntry{ActorID: &user.ID, Action: op.Id, Outcome: outcome, Door: account.DoorHTTP}
	if _, ok := shape.ParseID(id); (ok || isHash(id)) && op.Subject != "" {
		entry.Subject = op.Subject + "/" + id
	}
	if err := s.Store.Audit(context.WithoutCancel(ctx), entry); err != nil {
		s.Log.Error(
			"an entry of the audit log is lost", "request", noteOf(ctx).id, "action", op.Id, "outcome", outcome, "error", err,
		)
	}
}

// Hide says that code denies a thing to those who may not see it; find finds it whoever asks.
func (s *Server) Hide(code fault.Code, find func(ctx context.Context, id int64) error) {
	s.hidden[code] = find
}

// Refusal gives the error as it came, and audits it when somebody reached for what is not theirs, though that is
// answered as if there were nothing.
func (s *Server) Refusal(ctx context.Context, op Operation, id string, err error) error {
	code := fault.CodeOf(err)
	reached := code == fault.InsufficientAccess
	if find := s.hidden[code]; find != nil {
		reached = find(ctx, PathID(id)) == nil
	}

	if reached {
		s.Audit(ctx, Caller(ctx), op, id, account.OutcomeRefused)
	}
	return err
}
