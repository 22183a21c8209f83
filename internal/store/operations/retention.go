package operations

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Retention is for how many days each kind of row is kept after its end, by the names of its policies; missing or 0:
// for ever. Records of money (transactions with their events, payments, the chain, the ledger) have no policy: they are
// kept for ever.
type Retention map[string]int

// Old is one kind of old rows: its names and for how many days it is kept.
type Old struct {
	Kind string
	Days int
}

// OldKinds lists what a policy deletes, in the order of deletion.
func (s *Store) OldKinds(r Retention) (kinds []Old) {
	for _, one := range s.parts.retentions() {
		if days := r[one.Policy]; days > 0 {
			kinds = append(kinds, Old{one.Kind, days})
		}
	}
	return kinds
}

var otherRetentions = []core.Retention{
	core.EventsOf(lifecycle.WebhookEvents, `webhooks w WHERE w.id = e.entity_id::bigint`),
	{
		Kind: "answers", Policy: "answers",
		ByAge: `DELETE FROM answers WHERE (user_id, key) IN (SELECT user_id, key FROM answers
			WHERE created_at < now() - $2::interval ORDER BY created_at LIMIT $1)`,
	},
	{
		Kind: "news", Policy: "news",
		ByAge: `DELETE FROM news WHERE (user_id, workload, entity_id, seq) IN (SELECT user_id, workload, entity_id, seq FROM news
			WHERE state IN ('sent', 'unknown', 'lost') AND due_at < now() - $2::interval
			ORDER BY due_at LIMIT $1)`,
	},
	{
		Kind: "alerts", Policy: "alerts",
		Page: `SELECT id, opened_at AS made, coalesce(resolved_at < $3, false) AND over_sent_at IS NOT NULL AS old
			FROM alerts WHERE id > $1 ORDER BY id LIMIT $2`,
		Drops: []string{`DELETE FROM alerts WHERE id = ANY ($1)`},
	},
	{
		Kind: "audit", Policy: "audit",
		Page:  `SELECT id, created_at AS made, created_at < $3 AS old FROM audit_log WHERE id > $1 ORDER BY id LIMIT $2`,
		Drops: []string{`DELETE FROM audit_log WHERE id = ANY ($1)`},
	},
	{
		Kind: "findings", Policy: "findings",
		Page: `SELECT id, found_at AS made, coalesce(done_at < $3, false) AND seen_at < $3 AS old
			FROM reconciler_findings WHERE id > $1 ORDER BY id LIMIT $2`,
		Drops: []string{`DELETE FROM reconciler_findings WHERE id = ANY ($1)`},
	},
}

// DeleteOld deletes old rows among up to limit rows of a kind after the one with the number after, in one short
// database transaction. It returns how many it has deleted and where to continue; 0: no old rows are left. PostgreSQL
// plans it for that limit each time: for any number of rows it would read the tables.
func (s *Store) DeleteOld(ctx context.Context, old Old, after int64, limit int) (deleted, next int64, err error) {
	age := time.Duration(old.Days) * 24 * time.Hour
	all := s.parts.retentions()
	at := slices.IndexFunc(all, func(r core.Retention) bool { return r.Kind == old.Kind })
	if at < 0 {
		return 0, 0, fault.Invalid("kind", "there is no such kind of rows")
	}

	found := all[at]
	if found.ByAge != "" {
		tag, err := s.db.Exec(ctx, found.ByAge, pgx.QueryExecModeCacheDescribe, limit, age)
		if tag.RowsAffected() == int64(limit) {
			next = 1
		}
		return tag.RowsAffected(), next, core.Unavailable(err)
	}

	err = s.db.InLongTx(ctx, func(tx pgx.Tx) error {
		var before time.Time
		if err := tx.QueryRow(ctx, `SELECT now() - $1::interval`, age).Scan(&before); err != nil {
			return err
		}

		type row struct {
			ID   int64     `db:"id"`
			Made time.Time `db:"made"`
			Old  bool      `db:"old"`
		}

		page, err := core.List[row](ctx, tx, found.Page, pgx.QueryExecModeCacheDescribe, after, limit, before)
		if err != nil {
			return err
		}

		var ids []int64
		for _, row := range page {
			if row.Old {
				ids = append(ids, row.ID)
			}
		}

		if len(page) == limit && page[limit-1].Made.Before(before) {
			next = page[limit-1].ID
		}

		if len(ids) == 0 {
			return nil
		}

		for _, drop := range found.Drops {
			tag, err := tx.Exec(ctx, drop, ids)
			if err != nil {
				return err
			}
			deleted = tag.RowsAffected() // the last one deletes the rows themselves
		}

		return nil
	})

	return deleted, next, err
}

// Forget makes a user anonymous in the complete record at once, for good: what is left is a number. Live deliveries and
// downloads are marked to end; the caller signals their workflows, and those of tasks. A repeated call changes nothing.
// LAST_ADMIN: no active administrator would be left.
//
// Shared content stays: titles and descriptions of tasks, names of workspaces and books. The proofs of payments stay
// too, with comments of operators about them.
//
// What the user's tokens have made ends with them, as when they are revoked: ended is that, without the user's own.
func (s *Store) Forget(ctx context.Context, id, by int64) (user account.User, ended account.Ended, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := account.LeaveOneAdmin(ctx, tx, id); err != nil {
			return err
		}

		before, err := core.One[account.User](
			ctx, tx, account.NoUser, `SELECT `+account.UserColumns+` FROM users WHERE id = $1 FOR NO KEY UPDATE`, id,
		)
		if err != nil {
			return err
		}

		if ended, err = account.EndTokensOf(ctx, tx, id, by); err != nil {
			return err
		}

		if err := account.EndLeases(ctx, tx, id); err != nil {
			return err
		}

		batch := &pgx.Batch{}
		s.queueForgetting(batch, id, by, before.TelegramID)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}

		user, err = core.One[account.User](ctx, tx, account.NoUser, `UPDATE users SET name = '', telegram_id = NULL, username = NULL, language = 'en', role = 'USER',
			status = `+core.Literal(account.UserBlocked)+`, forgotten_at = coalesce(forgotten_at, now()), updated_at = now()
			WHERE id = $1 RETURNING `+account.UserColumns, id)
		return err
	})

	return user, ended, core.Unavailable(err)
}

// queueForgetting removes a user from all tables except users, each by an index that begins with the user.
func (s *Store) queueForgetting(batch *pgx.Batch, id, by int64, chat *int64) {
	batch.Queue(`UPDATE tokens SET name = $2 WHERE user_id = $1`, id, core.RemovedText)
	batch.Queue(`DELETE FROM identities WHERE user_id = $1`, id)
	batch.Queue(`DELETE FROM webhooks WHERE user_id = $1`, id)
	batch.Queue(`DELETE FROM conversations WHERE chat_id = $1`, chat)
	batch.Queue(`DELETE FROM news WHERE user_id = $1`, id)
	batch.Queue(`DELETE FROM answers WHERE user_id = $1`, id)

	for _, part := range s.parts {
		if part.Forget != nil {
			part.Forget(batch, id, by)
		}
	}
}
