package account

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// Identity is a person's identity at an OpenID Connect provider.
type Identity struct {
	Issuer, Subject string
	TelegramID      *int64 // identifies the user by Telegram account; nil: by the linked identity
	Admin           *bool  // whether a group of the provider makes the user an administrator; nil: no group decides
}

// UserOfIdentity returns an identity's user. USER_NOT_FOUND: the identity is new.
func (s *Store) UserOfIdentity(ctx context.Context, i Identity) (User, error) {
	return userOfIdentity(ctx, s.db, i)
}

func userOfIdentity(ctx context.Context, q core.Session, i Identity) (User, error) {
	if i.TelegramID != nil {
		return core.One[User](ctx, q, NoUser, `SELECT `+UserColumns+` FROM users WHERE telegram_id = $1`, i.TelegramID)
	}
	return core.One[User](ctx, q, NoUser, `SELECT `+UserColumns+` FROM users
		WHERE id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2)`, i.Issuer, i.Subject)
}

// AddIdentity returns an identity's user, or adds the given one.
func (s *Store) AddIdentity(ctx context.Context, i Identity, newcomer User) (user User, created bool, err error) {
	if i.TelegramID != nil {
		newcomer.TelegramID = i.TelegramID
		return s.EnsureTelegramUser(ctx, newcomer)
	}

	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		// The lock serializes two browsers that sign in as the same new person.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext($1))`, "identities "+i.Issuer+" "+i.Subject); err != nil {
			return err
		}
		user, err = userOfIdentity(ctx, tx, i)
		if fault.CodeOf(err) != fault.UserNotFound {
			return err
		}

		user, err = core.One[User](ctx, tx, NoUser, `INSERT INTO users (name, language, status) VALUES ($1, $2, $3)
			RETURNING `+UserColumns, newcomer.Name, cmp.Or(newcomer.Language, "en"), cmp.Or(newcomer.Status, UserPending))
		if err != nil {
			return err
		}
		created = true
		return saveIdentity(ctx, tx, i, user.ID)
	})
	return user, created, err
}

func saveIdentity(ctx context.Context, tx pgx.Tx, i Identity, userID int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO identities (issuer, subject, user_id) VALUES ($1, $2, $3)
		ON CONFLICT (issuer, subject) DO UPDATE SET user_id = excluded.user_id, made_admin = identities.made_admin
			AND identities.user_id = excluded.user_id`, i.Issuer, i.Subject, userID)
	return err
}

// SignInIdentity starts a session for an identity's user, in the role decided by the provider's group. The session
// grants all that the role allows, as one started by the bot's link does. USER_NOT_ACTIVE: the user is pending or
// blocked.
func (s *Store) SignInIdentity(ctx context.Context, i Identity, secret string, life time.Duration) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		user, err := userOfIdentity(ctx, tx, i)
		if err != nil {
			return err
		}
		if err := saveIdentity(ctx, tx, i, user.ID); err != nil {
			return err
		}
		if user, err = decideRole(ctx, tx, i, user); err != nil {
			return err
		}

		_, err = startSession(ctx, tx, user.ID, secret, ScopesOf(user.Role), Maker{}, life)
		return err
	})
}

// decideRole makes a member of the group an active administrator, and revokes that role from those who have left it. It
// leaves blocked users, administrators appointed in another way, and the last administrator unchanged.
func decideRole(ctx context.Context, tx pgx.Tx, i Identity, user User) (_ User, err error) {
	if i.Admin == nil {
		return user, nil
	}
	if *i.Admin { // a user blocked concurrently stays blocked
		user, err = core.One[User](ctx, tx, NoUser, `SELECT `+UserColumns+` FROM users WHERE id = $1 FOR NO KEY UPDATE`, user.ID)
	}
	if err != nil || user.Status == UserBlocked {
		return user, err
	}

	made, err := core.Value[bool](ctx, tx, `SELECT made_admin FROM identities WHERE issuer = $1 AND subject = $2`, i.Issuer, i.Subject)
	change := UserChange{Role: RoleUser}
	switch {
	case err != nil:
		return user, err
	case *i.Admin && user.Role != RoleAdmin:
		change = UserChange{Role: RoleAdmin, Status: UserActive}
	case !*i.Admin && user.Role == RoleAdmin && made:
	default:
		return user, nil
	}

	changed, err := changeUser(ctx, tx, user.ID, change)
	if fault.CodeOf(err) == fault.LastAdmin {
		return user, nil
	}
	if err != nil {
		return user, err
	}

	batch := &pgx.Batch{}
	batch.Queue(`UPDATE identities SET made_admin = $3 WHERE issuer = $1 AND subject = $2`, i.Issuer, i.Subject, *i.Admin)
	batch.Queue(`INSERT INTO audit_log (actor_id, action, subject, outcome, door, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
		user.ID, "change-user", fmt.Sprint("user/", user.ID), OutcomeDone, DoorSystem, "role "+changed.Role+" by the group of the provider")
	return changed, tx.SendBatch(ctx, batch).Close()
}
