package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Principal is the user who sends a request, and the token of the request.
type Principal struct {
	User    account.User
	Token   account.Token
	Session *account.Session // in which the request is made, on a page; nil: the request has a token
}

// TokenEnds gives when the token of the request ends, or the one that signed in; nil: it has no end, or a link of the
// bot has signed in.
func (p Principal) TokenEnds() *time.Time {
	if p.Session != nil {
		return p.Session.TokenEndsAt
	}
	return p.Token.ExpiresAt
}

// grants gives the scopes of the token that its user's role allows.
func (p Principal) grants() []account.Scope { return p.Token.Grants(p.User.Role) }

// Maker is who makes what the request makes: it ends no later, and with the token. A session has the token that signed
// in.
func (p Principal) Maker() account.Maker {
	maker := account.Maker{EndsAt: p.Token.ExpiresAt}
	if p.Token.ID != 0 {
		maker.TokenID = &p.Token.ID
	}
	return maker
}

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

// PrincipalOf gives who sends a request; zero in an operation for anyone.
func PrincipalOf(ctx context.Context) Principal { return noteOf(ctx).who }

// Caller gives the user who sends a request; zero in an operation for anyone.
func Caller(ctx context.Context) account.User { return noteOf(ctx).who.User }

type principalKey struct{}

// WithPrincipal gives a context whose requests act for somebody who is known already: those that a page makes of the
// API in this process. They need no token, and the page bounds their rate. The access log names the page's user, too.
func WithPrincipal(ctx context.Context, who Principal) context.Context {
	noteOf(ctx).who = who
	return context.WithValue(ctx, principalKey{}, who)
}

// admit calls an operation for those who may call it, and refuses others.
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

		if who.User.IsAdmin() { // administrators have connections of their own to the record
			ctx = huma.WithContext(ctx, core.Reserved(ctx.Context()))
		}

		next(ctx)
	}
}

// Admission finds who sends a request. It refuses an operation that they may not call, and one above their rate. It
// reads the record at each request, so a block takes effect at once.
func (s *Server) Admission(ctx context.Context, authorization string, op Operation, subject string) (Principal, error) {
	who, known := ctx.Value(principalKey{}).(Principal)
	if !known {
		var err error
		if who, err = s.authenticate(ctx, authorization); err != nil {
			return who, err
		}
	}

	request := noteOf(ctx)
	request.who, request.operation = who, op
	if !known {
		if err := s.Requests.TakeBy(who.User, BearerToken(authorization)); err != nil {
			return who, err
		}
	}

	if err := who.Permit(op); err != nil {
		s.audit(ctx, subject, account.OutcomeRefused, "")
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

// authenticate finds the user whose token an Authorization header has.
func (s *Server) authenticate(ctx context.Context, header string) (who Principal, err error) {
	token := BearerToken(header)
	if token == "" {
		return who, fault.New(fault.Unauthenticated, "send the header Authorization: Bearer <token>")
	}
	return s.Authenticate(ctx, token)
}

// Authenticate finds the user of a token. Wrong tokens are limited by the address that sends the request.
func (s *Server) Authenticate(ctx context.Context, token string) (who Principal, err error) {
	err = s.Identify(ctx, token, func(ctx context.Context) (err error) {
		who.User, who.Token, err = s.Store.Accounts.Authenticate(ctx, token)
		return err
	})
	return who, err
}

// Identify lets find look up in the record whose a secret is. It refuses before that where the address has sent too many
// wrong ones, or where the secret's user was refused for their rate a moment ago.
func (s *Server) Identify(ctx context.Context, secret string, find func(context.Context) error) error {
	remote := RemoteOf(ctx)
	if err := s.Guesses.Check(remote, secret); err != nil {
		return err
	}
	if err := s.Requests.Check(secret); err != nil {
		return err
	}

	err := find(core.Reserved(ctx)) // who it is has to be known first
	switch {
	case err == nil:
		s.Guesses.Right(secret)
	case fault.CodeOf(err) == fault.Unauthenticated:
		s.Guesses.Wrong(remote, secret)
	}
	return err
}

// TakeMore counts a request as several more of its user's, for what it costs is known once its body is.
func (s *Server) TakeMore(ctx context.Context, n int) error {
	return s.Requests.TakeMany(Caller(ctx), n)
}

// TakeOpen counts a request of an operation for anyone against the rate of its network address.
func (s *Server) TakeOpen(ctx context.Context) error { return s.Open.Take(RemoteOf(ctx)) }

// BearerToken gives the token of an Authorization header; empty: there is none.
func BearerToken(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, bearer) {
		return ""
	}
	return strings.TrimSpace(token)
}

// Permit refuses an operation that is not for this user, or not for this token, or that asks again who it is.
func (p Principal) Permit(op Operation) error {
	switch {
	case p.User.Status != account.UserActive:
		return fault.New(fault.UserNotActive, "this user is %s", p.User.Status).With("status", p.User.Status)
	case op.Access == ForAdmins && !p.User.IsAdmin():
		return fault.New(fault.InsufficientAccess, "this is for administrators")
	case op.Scope == AnyScope:
		return p.confirm(op)
	}

	if err := p.Require(op.Scope); err != nil {
		return err
	}
	return p.confirm(op)
}

// Done writes to the audit log that the caller has done the operation of this request to what id names; "" is nothing
// in particular.
func (s *Server) Done(ctx context.Context, id string) { s.audit(ctx, id, account.OutcomeDone, "") }

// DoneWith is Done with more about the outcome.
func (s *Server) DoneWith(ctx context.Context, id, detail string) {
	s.audit(ctx, id, account.OutcomeDone, detail)
}

// audit writes what an administrator has done, or what somebody was refused. The answer does not depend on it, because
// the operation has been done or refused already.
func (s *Server) audit(ctx context.Context, id, outcome, detail string) {
	request := noteOf(ctx)
	entry := account.AuditEntry{
		ActorID: &request.who.User.ID, Action: request.operation.Id, Outcome: outcome, Door: account.DoorHTTP, Detail: detail,
	}
	_, ok := shape.ParseID(id)
	if subject := request.operation.Subject; subject != "" && (ok || isHash(id)) {
		entry.Subject = request.operation.Subject + "/" + id
	}

	if err := s.Store.Accounts.Audit(context.WithoutCancel(ctx), entry); err != nil {
		s.Log.Error("an entry of the audit log is lost",
			"request", request.id, "action", entry.Action, "outcome", outcome, "error", err)
	}
}

// Hide registers a code that is answered both for a thing that does not exist and for one that the caller may not see.
// find finds the thing for anyone.
func (s *Server) Hide(code fault.Code, find func(ctx context.Context, id int64) error) {
	s.hidden[code] = find
}

// Refusal gives the error unchanged. It audits a request for what the caller may not see, which is answered as if it did
// not exist.
func (s *Server) Refusal(ctx context.Context, id string, err error) error {
	code := fault.CodeOf(err)
	reached := code == fault.InsufficientAccess
	if find := s.hidden[code]; find != nil {
		reached = find(ctx, PathID(id)) == nil
	}

	if reached {
		s.audit(ctx, id, account.OutcomeRefused, "")
	}
	return err
}
