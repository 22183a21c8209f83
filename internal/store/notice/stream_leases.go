package notice

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/internal/store/core"
)

// StreamLease is how long the recorded number of a process's event streams is valid: a process that was killed blocks
// its users' streams for no longer.
const StreamLease = 30 * time.Second

// LeaseStreams records that a process has this many event streams of a user open, unless all processes together would
// have more than the maximum. Two processes that ask for the same user wait for each other. The index
// stream_leases_user finds the rows of the others.
func (s *Store) LeaseStreams(
	ctx context.Context, process string, userID int64, streams, maximum int,
) (granted bool, err error) {
	q := core.Quota{Name: "streams", Maximum: maximum}
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		q.QueueLock(batch, userID)
		// A stream that has just ended may still be counted in this process's row. The count is never too low.
		batch.Queue(`WITH others AS (
				SELECT coalesce(sum(streams), 0) AS streams FROM stream_leases WHERE user_id = $2 AND process <> $1 AND expires_at > now()
			) INSERT INTO stream_leases AS l (process, user_id, streams, expires_at)
				SELECT $1, $2, $3::integer, now() + $5::interval FROM others WHERE others.streams + $3::integer <= $4::integer
			ON CONFLICT (process, user_id) DO UPDATE SET streams = greatest(l.streams, excluded.streams), expires_at = excluded.expires_at`,
			process, userID, streams, maximum, StreamLease).Exec(func(tag pgconn.CommandTag) error {
			granted = tag.RowsAffected() == 1
			return nil
		})

		return tx.SendBatch(ctx, batch).Close()
	})

	return granted, err
}

// RenewStreams records how many event streams of each user a process has open now, in one statement for all. It deletes
// the rows without a stream, and expired rows of other processes.
func (s *Store) RenewStreams(ctx context.Context, process string, users []int64, streams []int) error {
	return s.db.Do(ctx, `WITH open AS (
			SELECT unnest($2::bigint[]) AS user_id, unnest($3::bigint[]) AS streams
		), gone AS (
			DELETE FROM stream_leases WHERE process = $1 AND user_id <> ALL ($2::bigint[]) OR process <> $1 AND expires_at < now()
		) INSERT INTO stream_leases (process, user_id, streams, expires_at) SELECT $1, user_id, streams, now() + $4::interval FROM open
		ON CONFLICT (process, user_id) DO UPDATE SET streams = excluded.streams, expires_at = excluded.expires_at`,
		process, users, streams, StreamLease)
}
