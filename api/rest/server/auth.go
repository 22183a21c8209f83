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

// Principal is the user who sends a request, and the request's token.
type Principal struct {
	User    account.User
	Token   account.Token
	Session *account.Session // the session of a request made on a page; nil if the request has a token
}

// TokenEnds returns when the request's token expires, or the token that signed the session in; nil: never, or a link of
// the bot signed it in.
func (p Principal) TokenEnds() *time.Time {
	if p.Session != nil {
		return p.Session.TokenEndsAt
	}
	return p.Token.ExpiresAt
}

// grants returns the token's scopes that its user's role allows.
func (p Principal) grants() []account.Scope { return p.Token.Grants(p.User.Role) }

// Maker identifies the creator of what the request creates, which ends no later than, and together with, the creator's
// token. For a session that is the token that signed it in.
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
	missing := slices.DeleteFunc(slices.Clone(scopes), func(s account.Scope) bool { return s.OpenedBy(granted) })
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

// PrincipalOf returns the sender of a request; zero in an operation for anyone.
func PrincipalOf(ctx context.Context) Principal { return noteOf(ctx).who }

// Caller returns the user who sends a request; zero in an operation for anyone.
func Caller(ctx context.Context) account.User { return noteOf(ctx).who.User }

type principalKey struct{}

// WithPrincipal returns a context whose requests act for an already authenticated user: a page's calls to the API in
// this process. They need no token, and the page limits their rate. The access log names the page's user too.
func WithPrincipal(ctx context.Context, who Principal) context.Context {
	noteOf(ctx).who = who
	return context.WithValue(ctx, principalKey{}, who)
}

// admit calls an operation for callers with access to it, and refuses others.
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

		if who.User.IsAdmin() { // administrators have reserved connections to the record
			ctx = huma.WithContext(ctx, core.Reserved(ctx.Context()))
		}

		next(ctx)
	}
}

// Admission authenticates the sender of a request. It refuses operations without access, and those above the rate. It
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

// Refuse answers that a request is not admitted. challenge tells a client without a valid token how to authenticate.
func (s *Server) Refuse(ctx context.Context, w http.ResponseWriter, err error, challenge string) {
	p := s.problem(ctx, err)
	if p.Code == fault.Unauthenticated {
		p.header.Set("WWW-Authenticate", challenge)
	}
	p.Write(w)
}

// authenticate finds the user of the token in an Authorization header.
func (s *Server) authenticate(ctx context.Context, header string) (who Principal, err error) {
	token := BearerToken(header)
	if token == "" {
		return who, fault.New(fault.Unauthenticated, "send the header Authorization: Bearer <token>")
	}
	return s.Authenticate(ctx, token)
}

// Authenticate finds the user of a token. Wrong tokens are limited by client address.
func (s *Server) Authenticate(ctx context.Context, token string) (who Principal, err error) {
	err = s.Identify(ctx, token, func(ctx context.Context) (err error) {
		who.User, who.Token, err = s.Store.Accounts.Authenticate(ctx, token)
		return err
	})
	return who, err
}

// Identify calls find, which looks up the owner of a secret in the record. It refuses without a lookup if the client
// address has sent too many wrong secrets, or if the secret's user was rate-limited a moment ago.
func (s *Server) Identify(ctx context.Context, secret string, find func(context.Context) error) error {
	remote := RemoteOf(ctx)
	if err := s.Guesses.Check(remote, secret); err != nil {
		return err
	}
	if err := s.Requests.Check(secret); err != nil {
		return err
	}

	began := time.Now()
	limited, cancel := context.WithTimeout(core.Reserved(ctx), answerTime) // authentication has priority
	defer cancel()

	err := find(limited)
	noteOf(ctx).identified = time.Since(began)
	switch {
	case err == nil:
		s.Guesses.Right(secret)
	case fault.CodeOf(err) == fault.Unauthenticated:
		s.Guesses.Wrong(remote, secret)
	}
	return err
}

// TakeMore counts a request as n more of its user's: its cost is only known once its body is.
func (s *Server) TakeMore(ctx context.Context, n int) error {
	return s.Requests.TakeMany(Caller(ctx), n)
}

// TakeOpen counts a request to an operation for anyone against the rate of its network address.
func (s *Server) TakeOpen(ctx context.Context) error { return s.Open.Take(RemoteOf(ctx)) }

// BearerToken returns the token in an Authorization header; empty if there is none.
func BearerToken(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, bearer) {
		return ""
	}
	return strings.TrimSpace(token)
}

// Permit refuses an operation that this user or this token may not call, or that requires a fresh confirmation of
// identity.
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

// Done audits that the caller has performed the request's operation on the subject id; "" is no subject in particular.
func (s *Server) Done(ctx context.Context, id string) { s.audit(ctx, id, account.OutcomeDone, "") }

// DoneWith is Done with more detail about the outcome.
func (s *Server) DoneWith(ctx context.Context, id, detail string) {
	s.audit(ctx, id, account.OutcomeDone, detail)
}

// audit records what an administrator has done, or what somebody was refused. The response does not depend on it,
// because the operation is already done or refused.
func (s *Server) audit(ctx context.Context, id, outcome, detail string) {
	request := noteOf(ctx)
	entry := account.AuditEntry{
		ActorID: &request.who.User.ID, Action: request.operation.Id, Outcome: outcome, Door: account.DoorHTTP, Detail: detail,
	}
	_, ok := shape.ParseID(id)
	if subject := request.operation.Subject; subject != "" && (ok || isHash(id)) {
		entry.Subject = request.operation.Subject + "/" + id
	}

	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	if err := s.Store.Accounts.Audit(detached, entry); err != nil {
		s.Log.Error("audit log entry lost",
			"request", request.id, "action", entry.Action, "outcome", outcome, "error", err)
	}
}

// Hide registers a code that is the same for a missing entity and for one that the caller may not see. find finds the
// entity regardless of the caller.
func (s *Server) Hide(code fault.Code, find func(ctx context.Context, id int64) error) {
	s.hidden[code] = find
}

// Refusal returns the error unchanged. It audits a request for an entity that the caller may not see, which is answered
// as if it did not exist.
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
