package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// walletMay lists what the payments process does with each table. It reads no personal secret. In tables shared by
// workloads, the schema's policy payments limits it to rows of transactions, and columns that order reads, such as an
// event's position, keep their defaults. Rows of the chain, the ledger and events are never changed or deleted.
var walletMay = map[string]string{
	"transactions":       "SELECT, INSERT, UPDATE",
	"payments":           "SELECT, INSERT, UPDATE",
	"ton_wallets":        "SELECT, INSERT, UPDATE",
	"chain_transactions": "SELECT, INSERT, UPDATE",
	"switches":           "SELECT, UPDATE",
	"ledger_entries":     "SELECT, INSERT",
	"ledger_postings":    "SELECT, INSERT",
	"ledger_balances":    "SELECT, INSERT, UPDATE",
	"events":             "SELECT, INSERT (workload, entity_id, seq, type, from_state, to_state, actor_id, owner_id, comment)",
	"SEQUENCE event_ids": "USAGE",

	"users":  "SELECT (id, telegram_id, username)", // recipients of Stars
	"news":   "SELECT, INSERT (user_id, workload, entity_id, seq, due_at)",
	"alerts": "SELECT, INSERT (kind), UPDATE (resolved_at)",

	"processes":        "SELECT, INSERT, UPDATE, DELETE", // its heartbeats
	"outside_systems":  "SELECT, INSERT, UPDATE",
	"goose_db_version": "SELECT",
}

// GrantWallet gives an existing role the rights of the payments process, and revokes every other right granted to it in
// the schema.
func (s *Store) GrantWallet(ctx context.Context, role string) error {
	name := pgx.Identifier{role}.Sanitize()
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname::text = $1)`, role).Scan(&exists); err != nil {
			return core.Unavailable(err)
		}
		if !exists {
			return fmt.Errorf("PostgreSQL has no role %q: create it with CREATE ROLE %s LOGIN PASSWORD '…'", role, name)
		}

		for _, kind := range []string{"TABLES", "SEQUENCES"} {
			if _, err := tx.Exec(ctx, `REVOKE ALL ON ALL `+kind+` IN SCHEMA public FROM `+name); err != nil {
				return err
			}
		}
		for _, table := range slices.Sorted(maps.Keys(walletMay)) {
			if _, err := tx.Exec(ctx, `GRANT `+walletMay[table]+` ON `+table+` TO `+name); err != nil {
				return err
			}
		}
		return nil
	})
}
