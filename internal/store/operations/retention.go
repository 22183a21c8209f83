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
	"stagecoach/internal/store/personal"
)

// Retention is for how many days each kind of row is kept after its end, by policy name; missing or 0: forever. Records
// of money (transactions with their events, payments, the chain, the ledger) have no policy: they are kept forever.
type Retention map[string]int

// Old is one kind of old rows: its names and its retention in days.
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
		Kind: "refusals", Policy: "refusals",
		ByAge: `DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log
			WHERE outcome = ` + core.Literal(account.OutcomeRefused) + ` AND date_bin('1 minute', created_at, 'epoch') < now() - $2::interval
			ORDER BY date_bin('1 minute', created_at, 'epoch') LIMIT $1)`,
	},
	{
		Kind: "findings", Policy: "findings",
		Page: `SELECT id, found_at AS made, coalesce(done_at < $3, false) AND seen_at < $3 AS old
			FROM reconciler_findings WHERE id > $1 ORDER BY id LIMIT $2`,
		Drops: []string{`DELETE FROM reconciler_findings WHERE id = ANY ($1)`},
	},
}

// DeleteOld deletes old rows among up to limit rows of a kind after the row whose id is after, in one short
// database transaction. It returns how many it deleted and where to continue; 0: no old rows are left. PostgreSQL plans
// it anew for that limit: for an unknown number of rows it would scan the tables.
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

// Forget anonymizes a user and their agents in the whole record at once, for good, according to personal.Tables: only
// ids remain. Live deliveries and downloads are marked to end; the caller signals their workflows, and those of
// tasks. Idempotent. LAST_ADMIN: no active administrator would be left.
//
// What the user's tokens made ends with them, as when they are revoked: ended is that, without the user's own, and with
// all agents.
func (s *Store) Forget(ctx context.Context, id, by int64) (user account.User, ended account.Ended, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := account.LeaveOneAdmin(ctx, tx, id); err != nil {
			return err
		}

		people, err := core.Values[int64](ctx, tx, `SELECT id FROM users WHERE id = $1 OR owner_id = $1 ORDER BY id FOR NO KEY UPDATE`, id)
		if err != nil {
			return err
		}
		if !slices.Contains(people, id) {
			return account.NoUser
		}

		if ended, err = account.EndTokensOf(ctx, tx, id, by); err != nil {
			return err
		}
		agents, err := core.List[account.User](ctx, tx, `UPDATE users SET status = $2, updated_at = now()
			WHERE owner_id = $1 AND status <> $2 RETURNING `+account.UserColumns, id, account.UserBlocked)
		if err != nil {
			return err
		}
		ended.Agents = append(ended.Agents, agents...)

		if err := account.EndLeases(ctx, tx, id); err != nil {
			return err
		}

		batch := &pgx.Batch{}
		for _, part := range s.parts {
			if part.End != nil {
				part.End(batch, people, by)
			}
		}
		personal.Queue(batch, people)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}

		user, err = core.One[account.User](ctx, tx, account.NoUser, `SELECT `+account.UserColumns+` FROM users WHERE id = $1`, id)
		return err
	})

	return user, ended, core.Unavailable(err)
}
