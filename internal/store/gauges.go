package store

import "context"

// WalletState is what waits for money to move. What belongs to a wallet is that of the wallet that was
// looked at last, and nil while there is none.
type WalletState struct {
	BalanceNano *int64 `db:"balance_nano"` // as the ledger has it
	// seconds since the chain time up to which the history is complete; nil: never scanned
	ChainLag *float64 `db:"chain_lag"`
}

// WalletState tells the state of the wallet and what waits for it.
func (s *Store) WalletState(ctx context.Context) (WalletState, error) {
	return one[WalletState](ctx, s, noWallet, `SELECT
		CASE WHEN w.address IS NOT NULL THEN coalesce((SELECT balance_nano FROM ledger_balances b WHERE b.wallet = w.address AND account = 'wallet'), 0) END AS balance_nano,
		extract(epoch FROM now() - w.scanned_to)::float8 AS chain_lag
		FROM (VALUES (1)) AS always LEFT JOIN (SELECT address, scanned_to FROM ton_wallets ORDER BY updated_at DESC LIMIT 1) w ON true`)
}
