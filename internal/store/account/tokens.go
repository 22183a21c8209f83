package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Scope is a part of the API that a token may use. No scope implies another, except that read opens what library opens.
type Scope string

// OpenedBy reports whether the granted scopes open what needs the scope.
func (s Scope) OpenedBy(granted []Scope) bool {
	return slices.Contains(granted, s) || s == ScopeLibrary && slices.Contains(granted, ScopeRead)
}

// The scopes other than those of the workloads.
const (
	ScopeRead     Scope = "read"     // read what the user may see
	ScopeLibrary  Scope = "library"  // read the library's books and their files, as reading apps do
	ScopeFiles    Scope = "files"    // browse the shared folder
	ScopeWebhooks Scope = "webhooks" // manage webhooks
	ScopeTokens   Scope = "tokens"   // manage the user's own tokens, their agents' tokens, and sign-in links
	ScopeOperate  Scope = "operate"  // read the state of the service
	ScopeUsers    Scope = "users"    // manage users and their tokens
)

var (
	// Scopes lists all scopes in display order.
	Scopes = slices.Concat(userScopes, adminScopes)

	userScopes  = append(workloadScopes(false, ScopeRead, ScopeLibrary, ScopeFiles), ScopeWebhooks, ScopeTokens)
	adminScopes = append(workloadScopes(true), ScopeOperate, ScopeUsers) // useful to administrators only
)

// workloadScopes appends the workloads' scopes for users, or those for administrators only.
func workloadScopes(admins bool, before ...Scope) []Scope {
	for _, workload := range lifecycle.Workloads {
		scope := Scope(workload.Scope)
		if scope != "" && workload.Admins == admins && !slices.Contains(before, scope) {
			before = append(before, scope)
		}
	}
	return before
}

// ScopesOf returns the scopes allowed to a role.
func ScopesOf(role string) []Scope {
	if role == RoleAdmin {
		return slices.Clone(Scopes)
	}
	return slices.Clone(userScopes)
}

// Token is a user's API token. Its secret is shown once and not stored.
type Token struct {
	ID         int64      `db:"id"`
	UserID     int64      `db:"user_id"`
	Name       string     `db:"name"`
	Scopes     []Scope    `db:"scopes"` // granted if the user's role allows them
	Configured bool       `db:"configured"`
	ExpiresAt  *time.Time `db:"expires_at"`
	LastUsedAt *time.Time `db:"last_used_at"`
	CreatedAt  time.Time  `db:"created_at"`
	SecretAt   time.Time  `db:"secret_at"` // when it got its current secret
	ParentID   *int64     `db:"parent_id"` // the token whose request made it; nil: the bot's link, or the configuration
}

// Grants returns the token's scopes for a user with this role.
func (t Token) Grants(role string) []Scope {
	return slices.DeleteFunc(ScopesOf(role), func(s Scope) bool { return !slices.Contains(t.Scopes, s) })
}

const (
	tokenColumns = `id, user_id, name, scopes, origin = 'configured' AS configured, expires_at, last_used_at, created_at, secret_at, parent_id`

	// liveToken is true of a usable token.
	liveToken = `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`

	// useNoted is how stale a token's recorded last use may become before it is written again.
	useNoted = time.Minute
)

// NoToken is TOKEN_NOT_FOUND.
var NoToken = fault.New(fault.TokenNotFound, "there is no such token")

// NewToken returns a new API token: 160 random bits in a form that can be read aloud.
func NewToken() string {
	raw := make([]byte, 20)
	rand.Read(raw)
	return "sc_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw))
}

func hashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// Authenticate returns the user and token of a secret. UNAUTHENTICATED: the token is unknown, revoked or expired. Both
// conditions on hashes have a unique index.
func (s *Store) Authenticate(ctx context.Context, secret string) (User, Token, error) {
	token, err := core.One[heldToken](ctx, s.db, fault.New(fault.Unauthenticated, "this token is unknown"), `SELECT `+tokenColumns+`,
		revoked_at IS NOT NULL AS revoked, expires_at <= now() IS TRUE AS expired,
		last_used_at IS NULL OR last_used_at <= now() - $2::interval AS stale
		FROM tokens WHERE hash = $1 OR previous_hash = $1 AND previous_until > now()`, hashToken(secret), useNoted)

	switch {
	case err != nil:
		return User{}, Token{}, err
	case token.Revoked:
		return User{}, Token{}, fault.New(fault.Unauthenticated, "this token was revoked")
	case token.Expired:
		return User{}, Token{}, fault.New(fault.Unauthenticated, "this token has expired")
	}

	if token.Stale {
		if _, err := s.db.Exec(ctx, `UPDATE tokens SET last_used_at = now()
			WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= now() - $2::interval)`, token.ID, useNoted); err != nil {
			return User{}, Token{}, core.Unavailable(err)
		}
	}

	user, err := s.UserByID(ctx, token.UserID)
	return user, token.Token, err
}

type Holder struct {
	User  User
	Token Token // only its id and scopes
}

// Holders returns the users of several tokens and sessions by their secrets, in one statement: like Authenticate and
// SessionOf, but without recording the last use. Unknown, revoked and expired ones are left out.
func (s *Store) Holders(ctx context.Context, secrets []string) (map[string]Holder, error) {
	byHash := make(map[string]string, len(secrets))
	hashes := make([][]byte, len(secrets))
	for i, secret := range secrets {
		hashes[i] = hashToken(secret)
		byHash[string(hashes[i])] = secret
	}

	rows, err := core.List[struct {
		User
		TokenID int64   `db:"token_id"`
		Scopes  []Scope `db:"scopes"`
		Hash    []byte  `db:"presented"`
	}](ctx, s.db, `SELECT `+UserColumns+`, token_id, scopes, presented FROM users JOIN (
			SELECT id AS token_id, user_id, scopes, expires_at, hash AS presented FROM tokens WHERE hash = ANY ($1) AND revoked_at IS NULL
			UNION ALL SELECT id, user_id, scopes, expires_at, previous_hash FROM tokens
				WHERE previous_hash = ANY ($1) AND previous_until > now() AND revoked_at IS NULL
			UNION ALL SELECT coalesce(token_id, 0), user_id, scopes, expires_at, hash FROM sessions WHERE hash = ANY ($1) AND `+liveSession+`
		) held ON users.id = held.user_id WHERE expires_at IS NULL OR expires_at > now()`, hashes)
	if err != nil {
		return nil, err
	}

	holders := make(map[string]Holder, len(rows))
	for _, row := range rows {
		token := Token{ID: row.TokenID, UserID: row.ID, Scopes: row.Scopes}
		holders[byHash[string(row.Hash)]] = Holder{User: row.User, Token: token}
	}
	return holders, nil
}

type heldToken struct {
	Token
	Revoked bool `db:"revoked"`
	Expired bool `db:"expired"`
	Stale   bool `db:"stale"` // its last use must be written
}

// CreateToken adds a token to a user, within the quota. It ends no later than its parent. UNAUTHENTICATED: the parent
// has ended.
func (s *Store) CreateToken(ctx context.Context, t Token, secret string) (made Token, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := hold(ctx, tx, t.ParentID); err != nil {
			return err
		}
		if err := s.db.Quotas.Of(TokenQuota).Check(ctx, tx, t.UserID, 1); err != nil {
			return err
		}

		made, err = addToken(ctx, tx, t, secret, originMade)
		return err
	})
	return made, err
}

// Origins of tokens.
const (
	originMade       = "made"
	originFirst      = "first" // made with the user, or renewed by an administrator
	originConfigured = "configured"
)

// addToken adds a token whose parent is held.
func addToken(ctx context.Context, tx pgx.Tx, t Token, secret, origin string) (Token, error) {
	return core.One[Token](ctx, tx, NoToken, `INSERT INTO tokens (user_id, name, hash, scopes, origin, parent_id, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, least($7, (SELECT expires_at FROM tokens WHERE id = $6))) RETURNING `+tokenColumns,
		t.UserID, t.Name, hashToken(secret), t.Scopes, origin, t.ParentID, t.ExpiresAt)
}

// Tokens lists a user's unrevoked tokens with ids above after, ascending.
func (s *Store) Tokens(ctx context.Context, userID, after int64, limit int) ([]Token, error) {
	return core.List[Token](ctx, s.db, `SELECT `+tokenColumns+` FROM tokens
		WHERE user_id = $1 AND id > $2 AND revoked_at IS NULL ORDER BY id LIMIT $3`, userID, after, limit)
}

// TokenByID returns an unrevoked token of a user.
func (s *Store) TokenByID(ctx context.Context, userID, id int64) (Token, error) {
	return core.One[Token](
		ctx, s.db, NoToken, `SELECT `+tokenColumns+` FROM tokens WHERE id = $2 AND user_id = $1 AND revoked_at IS NULL`, userID,
		id,
	)
}

// AnyToken returns any user's unrevoked token, and its user.
func (s *Store) AnyToken(ctx context.Context, id int64) (User, Token, error) {
	token, err := core.One[Token](ctx, s.db, NoToken, `SELECT `+tokenColumns+` FROM tokens WHERE id = $1 AND revoked_at IS NULL`, id)
	if err != nil {
		return User{}, token, err
	}
	user, err := s.UserByID(ctx, token.UserID)
	return user, token, err
}

// RevokeToken revokes a user's token and everything made by it.
func (s *Store) RevokeToken(ctx context.Context, userID, id, by int64) (ended Ended, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockToken(ctx, tx, userID, id); err != nil {
			return err
		}
		ended, err = EndTokens(ctx, tx, []int64{id}, by)
		return err
	})
	return ended, err
}

// RotateToken gives a token a new secret and expiry; the previous secret stays valid for grace. The id, the parent, and
// what the token made stay. It ends no later than its parent, and what it made no later than it. If another token makes
// the request, that one knows the secret from now on: its end also ends this token.
func (s *Store) RotateToken(
	ctx context.Context, t Token, secret string, grace time.Duration, by Maker,
) (rotated Token, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := hold(ctx, tx, by.TokenID); err != nil {
			return err
		}
		if err := lockToken(ctx, tx, t.UserID, t.ID); err != nil {
			return err
		}

		rotated, err = core.One[Token](ctx, tx, NoToken, `UPDATE tokens t SET previous_hash = hash, previous_until = now() + $3::interval,
				hash = $2, secret_at = now(), rotated_by = coalesce(nullif($5, id), rotated_by),
				expires_at = least($4, $6, (SELECT expires_at FROM tokens WHERE id = t.parent_id), (SELECT expires_at FROM tokens WHERE id = $5))
			WHERE id = $1 RETURNING `+tokenColumns, t.ID, hashToken(secret), grace, t.ExpiresAt, by.TokenID, by.EndsAt)
		if err != nil {
			return err
		}
		return endNoLater(ctx, tx, t.ID, rotated.ExpiresAt)
	})

	return rotated, err
}

// RenewToken gives a user a new first token. The old secret ends at once, with its sessions and links; what the token
// made stays. A missing first token is created, with the parent of t. INVALID_TRANSITION: the user has the configured
// token.
func (s *Store) RenewToken(ctx context.Context, t Token, secret string) (User, error) {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := hold(ctx, tx, t.ParentID); err != nil {
			return err
		}
		if _, err := core.One[User](ctx, tx, NoUser, `SELECT `+UserColumns+` FROM users
			WHERE id = $1 AND forgotten_at IS NULL FOR NO KEY UPDATE`, t.UserID); err != nil {
			return err
		}

		tokens, err := core.List[Token](ctx, tx, `SELECT `+tokenColumns+` FROM tokens WHERE user_id = $1 AND revoked_at IS NULL
			AND origin <> $2 ORDER BY origin = $3 DESC, id DESC LIMIT 1 FOR UPDATE`, t.UserID, originMade, originConfigured)
		switch {
		case err != nil:
			return err
		case len(tokens) == 0:
			_, err = addToken(ctx, tx, t, secret, originFirst)
			return err
		case tokens[0].Configured:
			return fault.New(fault.InvalidTransition, "this user's token comes from the configuration: change STAGECOACH_ADMIN_TOKEN")
		}

		t.ID = tokens[0].ID
		return replaceSecret(ctx, tx, t, hashToken(secret))
	})
	if err != nil {
		return User{}, err
	}
	return s.UserByID(ctx, t.UserID)
}

// replaceSecret gives a token a new secret, ending the old one at once, and t's scopes, expiry and parent, the
// requesting token. What the token made stays; sessions and links of the old secret end.
func replaceSecret(ctx context.Context, tx pgx.Tx, t Token, hash []byte) error {
	replaced, err := core.One[Token](ctx, tx, NoToken, `UPDATE tokens SET hash = $2, secret_at = now(), previous_hash = NULL, previous_until = NULL,
			scopes = $3, rotated_by = nullif($4, id), revoked_at = NULL,
			expires_at = least($5, (SELECT expires_at FROM tokens WHERE id = $4))
		WHERE id = $1 RETURNING `+tokenColumns, t.ID, hash, t.Scopes, t.ParentID, t.ExpiresAt)
	if err != nil {
		return err
	}

	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM sessions WHERE token_id = $1`, t.ID)
	batch.Queue(`DELETE FROM sign_in_links WHERE token_id = $1`, t.ID)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return endNoLater(ctx, tx, t.ID, replaced.ExpiresAt)
}

// lockToken locks a user's unrevoked token.
func lockToken(ctx context.Context, tx pgx.Tx, userID, id int64) error {
	_, err := core.One[struct {
		ID int64 `db:"id"`
	}](ctx, tx, NoToken, `SELECT id FROM tokens WHERE id = $2 AND user_id = $1 AND revoked_at IS NULL FOR UPDATE`, userID, id)
	return err
}

// TokenQuota limits a user's unrevoked, unexpired tokens.
var TokenQuota = core.Quota{
	Name:   "tokens",
	Things: `FROM tokens WHERE user_id = %s AND ` + liveToken,
	Above:  `SELECT user_id, count(*) FROM tokens WHERE ` + liveToken + ` GROUP BY 1 HAVING count(*) > %d`,
}
