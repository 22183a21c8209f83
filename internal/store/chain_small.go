package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// SmallTransferNotices tell of transfers below the minimum. The entity of a notice is the transaction on the chain; it
// has no event.
const SmallTransferNotices = "small_transfer"

// A person is told of one small transfer in so long, and of none that is older: anybody can send a few coins with
// anybody's name.
const smallTransferPause = `interval '24 hours'`

// tooSmall plans that the person whom a transfer below the minimum names is told that it is no order. News of one
// person are found by the primary key; the wallet's lock lets one transfer at a time look.
func (in *ingest) tooSmall(ctx context.Context, t ChainTransaction) error {
	if t.Aborted && len(t.Out) > 0 || t.In.Source == "" || t.In.Source == in.Address {
		return nil // it was sent back, or is no person's
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO news (user_id, workload, entity_id, seq, due_at)
		SELECT u.id, $1, $2, 1, now() FROM users u WHERE u.username = $3 AND u.telegram_id IS NOT NULL
			AND $4::timestamptz > now() - `+smallTransferPause+` AND NOT EXISTS (
				SELECT 1 FROM news n WHERE n.user_id = u.id AND n.workload = $1 AND n.due_at > now() - `+smallTransferPause+`)
		ON CONFLICT DO NOTHING`, SmallTransferNotices, t.Hash, plainUsername(t.TooSmallFor), t.At)
	return in.tx.SendBatch(ctx, batch).Close()
}
