package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// walletMay is what the process for payments does with each table. It reads no secret of a person, and writes no row of another
// workload. Rows of the chain, of the ledger and of events are never changed or deleted.
var walletMay = map[string]string{
	"transactions":       "SELECT, INSERT, UPDATE",
	"payments":           "SELECT, INSERT, UPDATE",
	"ton_wallets":        "SELECT, INSERT, UPDATE",
	"chain_transactions": "SELECT, INSERT, UPDATE",
	"switches":           "SELECT, UPDATE",
	"ledger_entries":     "SELECT, INSERT",
	"ledger_postings":    "SELECT, INSERT",
	"ledger_balances":    "SELECT, INSERT, UPDATE",
	"events":             "SELECT, INSERT",
	"SEQUENCE event_ids": "USAGE",

	"users":  "SELECT (id, telegram_id, username)", // whom the Stars are for
	"news":   "SELECT, INSERT",
	"alerts": "SELECT, INSERT, UPDATE",

	"processes":        "SELECT, INSERT, UPDATE, DELETE", // its heartbeats
	"outside_systems":  "SELECT, INSERT, UPDATE",
	"goose_db_version": "SELECT",
}

// GrantWallet lets an existing role do what the process for payments does, and takes away every other right that it was granted
// in the schema.
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

		if _, err := tx.Exec(ctx, `REVOKE ALL ON ALL TABLES IN SCHEMA public FROM `+name); err != nil {
			return err
		}
		for _, table := range slices.Sorted(maps.Keys(walletMay)) {
			if _, err := tx.Exec(ctx, `GRANT `+walletMay[table]+` ON `+table+` TO `+name); err != nil {
				return err
			}
		}
		return nil
	})
}
