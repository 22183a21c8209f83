package account

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

const (
	// LinkLife is how long a sign-in link is valid.
	LinkLife = 5 * time.Minute
	// ConfirmLife is how long a confirmation code is valid.
	ConfirmLife = 5 * time.Minute

	maxSessions = 20 // per user
)

// Session is a browser signed in as a user.
type Session struct {
	ID          int64      `db:"session_id"`
	TokenID     *int64     `db:"token_id"` // the token that signed in; nil: a link
	Scopes      []Scope    `db:"scopes"`
	ConfirmedAt time.Time  `db:"confirmed_at"` // when the person last proved their identity
	ExpiresAt   time.Time  `db:"expires_at"`
	TokenEndsAt *time.Time `db:"token_ends_at"` // of the token that signed in; nil: none, or no end
	StartedAt   time.Time  `db:"started_at"`
}

// Token returns what the session grants, as a token.
func (s Session) Token(userID int64) Token {
	token := Token{UserID: userID, Scopes: s.Scopes, ExpiresAt: &s.ExpiresAt, CreatedAt: s.StartedAt}
	if s.TokenID != nil {
		token.ID = *s.TokenID
	}
	return token
}

// heldSession is a session with its user, as one statement reads them.
type heldSession struct {
	Session
	User
}

const (
	sessionColumns = `sessions.id AS session_id, token_id, sessions.scopes, confirmed_at, sessions.created_at AS started_at,
		(SELECT tokens.expires_at FROM tokens WHERE tokens.id = token_id) AS token_ends_at,
		least(sessions.expires_at, (SELECT tokens.expires_at FROM tokens WHERE tokens.id = token_id)) AS expires_at`

	// liveSession is true of a usable session. It ends with the token that signed in.
	liveSession = `sessions.expires_at > now() AND (token_id IS NULL OR EXISTS (
		SELECT 1 FROM tokens WHERE tokens.id = token_id AND ` + liveToken + `))`
)

var noSession = fault.New(fault.Unauthenticated, "you are not signed in, or your session has ended")

// NewSecret returns a new secret of a link or of a session.
func NewSecret() string { return rand.Text() + rand.Text() }

// NewLink replaces a user's sign-in link, valid once and within LinkLife. The session will grant these scopes, and end
// no later than its requester. UNAUTHENTICATED: the requester has ended.
func (s *Store) NewLink(ctx context.Context, userID int64, secret string, scopes []Scope, by Maker) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := hold(ctx, tx, by.TokenID); err != nil {
			return err
		}

		_, err := tx.Exec(ctx, `INSERT INTO sign_in_links (user_id, hash, scopes, token_id, ends_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, least(now() + $6::interval, $5)) ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash,
				scopes = excluded.scopes, token_id = excluded.token_id, ends_at = excluded.ends_at, expires_at = excluded.expires_at`,
			userID, hashToken(secret), scopes, by.TokenID, by.EndsAt, LinkLife)
		return err
	})
}

// SpendLink starts a session by a link, which is then spent. UNAUTHENTICATED: the link is unknown, spent, replaced or
// expired.
func (s *Store) SpendLink(ctx context.Context, link, secret string, life time.Duration) (user User, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		spent, err := core.One[struct {
			UserID  int64      `db:"user_id"`
			Scopes  []Scope    `db:"scopes"`
			TokenID *int64     `db:"token_id"`
			EndsAt  *time.Time `db:"ends_at"`
		}](ctx, tx, noSession, `DELETE FROM sign_in_links WHERE hash = $1 AND expires_at > now()
			RETURNING user_id, scopes, token_id, ends_at`, hashToken(link))
		if err != nil {
			return err
		}

		user, err = startSession(ctx, tx, spent.UserID, secret, spent.Scopes, Maker{spent.TokenID, spent.EndsAt}, life)
		return err
	})

	return user, err
}

// StartSession starts a session of a user by a token. The session grants what the token grants, and ends no later.
func (s *Store) StartSession(ctx context.Context, t Token, secret string, life time.Duration) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		_, err := startSession(ctx, tx, t.UserID, secret, t.Scopes, Maker{&t.ID, t.ExpiresAt}, life)
		return err
	})
}

// startSession adds a session and deletes the user's oldest ones beyond maxSessions. The user's row is locked, so that
// concurrent sign-ins are counted. The session ends no later than its requester.
func startSession(
	ctx context.Context, tx pgx.Tx, userID int64, secret string, scopes []Scope, by Maker, life time.Duration,
) (User, error) {
	if err := hold(ctx, tx, by.TokenID); err != nil {
		return User{}, err
	}
	user, err := core.One[User](
		ctx, tx, NoUser, `SELECT `+UserColumns+` FROM users WHERE id = $1 FOR NO KEY UPDATE`, userID,
	)
	if err != nil {
		return user, err
	}
	if user.Status != UserActive {
		return user, fault.New(fault.UserNotActive, "this user is %s", user.Status).With("status", user.Status)
	}

	if _, err := tx.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND (expires_at <= now() OR id NOT IN (
		SELECT id FROM sessions WHERE user_id = $1 ORDER BY id DESC LIMIT $2))`, userID, maxSessions-1); err != nil {
		return user, err
	}

	_, err = tx.Exec(ctx, `INSERT INTO sessions (user_id, hash, scopes, token_id, expires_at)
		VALUES ($1, $2, $3, $4, least(now() + $5::interval, $6))`, userID, hashToken(secret), scopes, by.TokenID, life, by.EndsAt)
	return user, err
}

// SessionOf returns the user and session of a secret, in one statement. UNAUTHENTICATED: the session is unknown or has
// ended.
func (s *Store) SessionOf(ctx context.Context, secret string) (User, Session, error) {
	held, err := core.One[heldSession](ctx, s.db, noSession, `SELECT users.*, `+sessionColumns+` FROM sessions
		JOIN (SELECT `+UserColumns+` FROM users) users ON users.id = user_id WHERE hash = $1 AND `+liveSession, hashToken(secret))
	return held.User, held.Session, err
}

// Sessions lists a user's live sessions, oldest first.
func (s *Store) Sessions(ctx context.Context, userID int64) ([]Session, error) {
	return core.List[Session](ctx, s.db, `SELECT `+sessionColumns+` FROM sessions
		WHERE user_id = $1 AND `+liveSession+` ORDER BY id`, userID)
}

// EndSession ends a user's session; 0: all of them.
func (s *Store) EndSession(ctx context.Context, userID, id int64) error {
	return s.db.Do(ctx, `DELETE FROM sessions WHERE user_id = $1 AND ($2::bigint = 0 OR id = $2)`, userID, id)
}

// ConfirmSession records that a session's person has just proved their identity.
func (s *Store) ConfirmSession(ctx context.Context, userID, id int64) error {
	return s.db.Do(ctx, `UPDATE sessions SET confirmed_at = now(), confirm_code = NULL, confirm_until = NULL
		WHERE user_id = $1 AND id = $2`, userID, id)
}

// AskConfirmation gives a session a six-digit code, valid for ConfirmLife. A code valid for at least another minute
// stays, so that a page opened twice shows one code.
func (s *Store) AskConfirmation(ctx context.Context, userID, id int64) (code string, err error) {
	number, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", err
	}

	asked, err := core.One[struct {
		Code string `db:"confirm_code"`
	}](ctx, s.db, noSession, `UPDATE sessions SET
			confirm_code = CASE WHEN confirm_until > now() + interval '1 minute' THEN confirm_code ELSE $3 END,
			confirm_until = CASE WHEN confirm_until > now() + interval '1 minute' THEN confirm_until ELSE now() + $4::interval END
		WHERE user_id = $1 AND id = $2 RETURNING confirm_code`, userID, id, fmt.Sprintf("%06d", number), ConfirmLife)
	return asked.Code, err
}

// Confirm records that a user sent the code of one of their sessions from their chat. UNAUTHENTICATED: none of their
// sessions currently has this code.
func (s *Store) Confirm(ctx context.Context, userID int64, code string) error {
	_, err := core.One[struct {
		ID int64 `db:"id"`
	}](ctx, s.db, fault.New(fault.Unauthenticated, "no session is waiting for this code"), `UPDATE sessions
		SET confirmed_at = now(), confirm_code = NULL, confirm_until = NULL
		WHERE id = (SELECT id FROM sessions WHERE user_id = $1 AND confirm_code = $2 AND confirm_until > now() ORDER BY id LIMIT 1)
		RETURNING id`, userID, code)
	return err
}
