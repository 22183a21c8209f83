package account

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// Statuses and roles of a user.
const (
	UserPending = "PENDING" // waits for an administrator's approval
	UserActive  = "ACTIVE"
	UserBlocked = "BLOCKED"

	RoleUser  = "USER"
	RoleAdmin = "ADMIN"
)

// User is a person or program that may use the service.
type User struct {
	ID         int64  `db:"id"`
	TelegramID *int64 `db:"telegram_id"` // also the id of the private chat
	Name       string `db:"name"`
	Language   string `db:"language"` // "en" or "ru"
	// LanguageChosen means that the person chose it: their Telegram language is ignored.
	LanguageChosen bool      `db:"language_chosen"`
	Role           string    `db:"role"`
	Status         string    `db:"status"`
	Username       string    `db:"username"` // in Telegram, lower-case and without "@"; empty: unknown
	OwnerID        *int64    `db:"owner_id"` // of an agent; nil: a person, or a program without an owner
	CreatedAt      time.Time `db:"created_at"`
	// ForgottenAt is when the user was anonymized, after which it cannot be changed.
	ForgottenAt *time.Time `db:"forgotten_at"`
}

// NoUser is USER_NOT_FOUND.
var NoUser = fault.New(fault.UserNotFound, "there is no such user")

// IsAdmin reports whether the user is an active administrator.
func (u User) IsAdmin() bool { return u.Role == RoleAdmin && u.Status == UserActive }

// PersonID is the user that limits count: agents count as their owner, so that more agents do not get a larger share.
func (u User) PersonID() int64 {
	if u.OwnerID != nil {
		return *u.OwnerID
	}
	return u.ID
}

// UserColumns are the columns of a User. An agent is BLOCKED while its owner is not ACTIVE.
var UserColumns = `id, telegram_id, name, language, language_chosen, role, CASE WHEN ` + core.OwnerActive("users") + ` THEN status
	ELSE ` + core.Literal(UserBlocked) + ` END AS status, coalesce(username, '') AS username, owner_id, created_at, forgotten_at`

// CreateUser adds a user; token may be empty for a user who only uses the bot. Without scopes the token grants all that
// the role allows. USER_EXISTS: the Telegram id is taken.
func (s *Store) CreateUser(ctx context.Context, u User, token string, scopes ...Scope) (User, error) {
	if len(scopes) == 0 {
		scopes = Scopes
	}
	return s.AddUser(ctx, u, Token{Scopes: scopes}, token)
}

// AddUser adds a user and, unless the secret is empty, the user's first token, at the request of the token's parent.
// UNAUTHENTICATED: the parent has ended.
func (s *Store) AddUser(ctx context.Context, u User, first Token, secret string) (created User, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := hold(ctx, tx, first.ParentID); err != nil {
			return err
		}

		created, err = core.One[User](ctx, tx, NoUser, `INSERT INTO users (telegram_id, name, language, role, status, made_by)
			VALUES ($1, $2, $3, $4, $5, $6) RETURNING `+UserColumns,
			u.TelegramID, u.Name, cmp.Or(u.Language, "en"), cmp.Or(u.Role, RoleUser), cmp.Or(u.Status, UserPending), first.ParentID)
		if err != nil || secret == "" {
			return err
		}

		first.UserID, first.Name = created.ID, "first"
		_, err = addToken(ctx, tx, first, secret, originFirst)
		return err
	})
	if core.IsUniqueViolation(err) {
		return User{}, fault.New(fault.UserExists, "a user with this telegram_id exists").WithField("telegram_id")
	}

	return created, err
}

// EnsureTelegramUser returns a Telegram account's user, or adds one with the given status and role.
func (s *Store) EnsureTelegramUser(ctx context.Context, u User) (user User, created bool, err error) {
	user, err = s.UserByTelegram(ctx, *u.TelegramID)
	if fault.CodeOf(err) != fault.UserNotFound {
		return user, false, err
	}
	user, err = s.CreateUser(ctx, u, "")
	if fault.CodeOf(err) == fault.UserExists {
		user, err = s.UserByTelegram(ctx, *u.TelegramID)
		return user, false, err
	}
	return user, err == nil, err
}

func (s *Store) UserByTelegram(ctx context.Context, telegramID int64) (User, error) {
	return s.user(ctx, `telegram_id = $1`, telegramID)
}

func (s *Store) UserByID(ctx context.Context, id int64) (User, error) {
	return s.user(ctx, `id = $1`, id)
}

func (s *Store) user(ctx context.Context, where string, arg any) (User, error) {
	return core.One[User](ctx, s.db, NoUser, `SELECT `+UserColumns+` FROM users WHERE `+where, arg)
}

// Users lists users with ids above after, ascending; status may be empty. Served by the index users_status.
func (s *Store) Users(ctx context.Context, status string, after int64, limit int) ([]User, error) {
	return core.Chosen[User](ctx, s.db, `SELECT `+UserColumns+` FROM users
		WHERE id > $1 AND ($2 = '' OR status = $2) ORDER BY id LIMIT $3`, after, status, limit)
}

// Admins lists the active administrators.
func (s *Store) Admins(ctx context.Context) ([]User, error) {
	return core.List[User](
		ctx, s.db, `SELECT `+UserColumns+` FROM users WHERE role = 'ADMIN' AND status = 'ACTIVE' ORDER BY id`,
	)
}

// UserChange is a change of a user; empty fields stay.
type UserChange struct {
	Name, Language, Role, Status string
	Telegram                     bool   // the language comes from the person's Telegram
	TokenID                      *int64 // the requesting token; recorded for a new administrator
}

// takesAdmin reports whether the change revokes administrator rights.
func (c UserChange) takesAdmin() bool {
	return c.Role != "" && c.Role != RoleAdmin || c.Status != "" && c.Status != UserActive
}

// ChangeUser applies a change, ends the leases of a user who is no longer active, and plans the notification of one who
// becomes active. A role set here is manual: a provider's group no longer revokes it. USER_NOT_FOUND: also for a
// forgotten user. LAST_ADMIN: no active administrator would be left.
func (s *Store) ChangeUser(ctx context.Context, id int64, c UserChange) (user User, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if c.Role != "" {
			if _, err := tx.Exec(ctx, `UPDATE identities SET made_admin = false WHERE user_id = $1 AND made_admin`, id); err != nil {
				return err
			}
		}
		user, err = changeUser(ctx, tx, id, c)
		return err
	})

	return user, err
}

// NoticesOfAccess is the workload under which the notification of a person's approval is stored, one row per person.
const NoticesOfAccess = "access"

func changeUser(ctx context.Context, tx pgx.Tx, id int64, c UserChange) (user User, err error) {
	if c.takesAdmin() {
		if err := LeaveOneAdmin(ctx, tx, id); err != nil {
			return user, err
		}
	}

	if c.Status == UserActive {
		_, err := tx.Exec(ctx, `INSERT INTO news (user_id, workload, entity_id, seq, due_at)
			SELECT id, $2, id::text, 1, now() FROM users WHERE id = $1 AND status <> 'ACTIVE' AND telegram_id IS NOT NULL FOR NO KEY UPDATE
			ON CONFLICT (user_id, workload, entity_id, seq) DO UPDATE SET state = 'due', due_at = now()`, id, NoticesOfAccess)
		if err != nil {
			return user, err
		}
	}

	user, err = core.One[User](ctx, tx, NoUser, `UPDATE users SET
		name = coalesce(nullif($2, ''), name), language = coalesce(nullif($3, ''), language),
		language_chosen = language_chosen OR $3 <> '' AND NOT $7,
		role = coalesce(nullif($4, ''), role), status = coalesce(nullif($5, ''), status),
		promoted_by = CASE WHEN $4 = 'ADMIN' AND role <> 'ADMIN' THEN $6 ELSE promoted_by END, updated_at = now()
		WHERE id = $1 AND forgotten_at IS NULL RETURNING `+UserColumns, id, c.Name, c.Language, c.Role, c.Status, c.TokenID, c.Telegram)
	if err != nil || user.Status == UserActive {
		return user, err
	}
	return user, EndLeases(ctx, tx, id)
}

// SetAgentsMuted mutes or unmutes the actions of agents on tasks for a user.
func (s *Store) SetAgentsMuted(ctx context.Context, id int64, muted bool) error {
	return s.db.Do(ctx, `UPDATE users SET mutes_agents = $2 WHERE id = $1`, id, muted)
}

// LeaveOneAdmin locks the administrators, so that two of them cannot remove each other concurrently, and refuses if the
// user is the only one.
func LeaveOneAdmin(ctx context.Context, tx pgx.Tx, id int64) error {
	admins, err := core.Values[int64](ctx, tx, `SELECT id FROM users
		WHERE role = 'ADMIN' AND status = 'ACTIVE' ORDER BY id FOR NO KEY UPDATE`)
	if err == nil && slices.Equal(admins, []int64{id}) {
		err = fault.New(fault.LastAdmin, "this is the last administrator: appoint another one first")
	}
	return err
}

// UserByUsername returns the user with a Telegram name, in any case and with or without "@".
func (s *Store) UserByUsername(ctx context.Context, username string) (User, error) {
	return s.user(ctx, `username = $1`, PlainUsername(username))
}

// SaveUsername stores a user's Telegram name; empty: the user has none. The name's previous user loses it.
func (s *Store) SaveUsername(ctx context.Context, id int64, username string) error {
	username = PlainUsername(username)
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		same, err := core.Value[bool](ctx, tx, `SELECT username IS NOT DISTINCT FROM nullif($2, '') FROM users
			WHERE id = $1`, id, username)
		if err != nil || same {
			return err
		}
		// The lock serializes name changes, because a name may pass from one user to another.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('users.username'))`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE users SET username = NULL WHERE username = $2 AND id <> $1`, id, username); err != nil {
			return err
		}

		_, err = tx.Exec(ctx, `UPDATE users SET username = nullif($2, '')
			WHERE id = $1 AND forgotten_at IS NULL`, id, username)
		return err
	})
}

// PlainUsername returns the normal form of a Telegram name: lower case, without @.
func PlainUsername(name string) string { return strings.ToLower(strings.TrimPrefix(name, "@")) }
