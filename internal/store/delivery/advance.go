package delivery

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Advance is Change in one round trip instead of two, for a caller who knows the row. nil: the row has another
// version by now, or its user another status, and nothing is written. The walk sees zero as Now, which stands for the
// time of the write: it may be kept, but not reckoned with.
func (s *Store) Advance(ctx context.Context, known Job, decide func(*JobWalk) error) (job *Job, err error) {
	write := &pgx.Batch{}
	if err := queueAdvance(write, known, nil, &job, decide); err != nil {
		return nil, err
	}
	err = s.db.SendBatch(ctx, write).Close()
	return job, core.Unavailable(err)
}

// Claim is Advance for a job that no worker has had and that is at most ttl old, and returns also what Telegram has of
// the file's content as it was last listed. nil: the job is another one, and nothing is written.
func (s *Store) Claim(
	ctx context.Context, id int64, ttl time.Duration, decide func(*JobWalk) error,
) (job *Job, sent SentFile, err error) {
	created := Job{ID: id, State: lifecycle.DeliveryQueued, UserStatus: account.UserActive, RowVersion: 1}
	batch := &pgx.Batch{}
	if err := queueAdvance(batch, created, &ttl, &job, decide); err != nil {
		return nil, sent, err
	}

	batch.Queue(`SELECT sha256, size, coalesce(telegram_file_id, '') AS file_id, coalesce(s.name, '') AS name
		FROM files f LEFT JOIN sent_files s USING (sha256, size) WHERE f.id = (SELECT file_id FROM jobs WHERE id = $1)`, id).Query(func(rows pgx.Rows) error {
		found, err := core.Optional[SentFile](rows)
		if found != nil {
			sent = *found
		}
		return err
	})

	err = s.db.SendBatch(ctx, batch).Close()
	return job, sent, core.Unavailable(err)
}

// queueAdvance lets decide walk a row that is not locked, and queues the result: row and events in one statement, which
// writes nothing unless the record has the row as it is known and, with an age, made no longer ago. What Telegram has is
// true in any case.
func queueAdvance(
	write *pgx.Batch, known Job, age *time.Duration, job **Job, decide func(*JobWalk) error,
) error {
	next := known
	next.Now = time.Time{}
	events, err := core.WalkUnlocked(jobs, &next, decide)
	if err != nil {
		return err
	}

	var types, from, to, comments []string
	for _, event := range events {
		types, comments = append(types, event.Type), append(comments, event.Comment)
		from, to = append(from, event.From), append(to, event.To)
	}

	write.Queue(`WITH jobs AS (
			`+updateJob+` FROM users u WHERE j.id = $1 AND row_version = $15 AND u.id = user_id AND u.status = $16
				AND ($17::interval IS NULL OR j.created_at >= now() - $17)
			RETURNING j.*
		), event AS (
			INSERT INTO events (workload, entity_id, seq, owner_id, type, from_state, to_state, comment)
			SELECT $18, id::text, $15 + turn, user_id, e.type, e.from_state, e.to_state, e.comment
			FROM jobs, unnest($19::text[], $20::text[], $21::text[], $22::text[]) WITH ORDINALITY
				AS e (type, from_state, to_state, comment, turn)
		) `+jobSelect, append(
		jobValues(&next), known.RowVersion, known.UserStatus, age, lifecycle.WorkloadDelivery, types, from, to, comments,
	)...).Query(func(rows pgx.Rows) (err error) {
		*job, err = core.Optional[Job](rows)
		return err
	})

	if next.Sent != nil {
		queueSentFile(write, *next.Sent)
	}
	return nil
}
