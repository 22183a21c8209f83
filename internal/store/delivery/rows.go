package delivery

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Origins of a job.
const (
	SourceBot = "bot"
	SourceAPI = "api"
)

// Job is the record of one delivery.
type Job struct {
	ID                int64                   `db:"id"`
	IdempotencyKey    string                  `db:"idempotency_key"`
	UserID            int64                   `db:"user_id"`
	FileID            int64                   `db:"file_id"`
	FileName          string                  `db:"file_name"`
	Size              int64                   `db:"size"` // bytes
	Source            string                  `db:"source"`
	State             lifecycle.DeliveryState `db:"state"`
	Attempt           int                     `db:"attempt"` // failed attempts, 0..3
	Claim             int                     `db:"claim"`   // fencing token of the current claim
	LastError         string                  `db:"last_error"`
	BytesSent         int64                   `db:"bytes_sent"`
	ClaimedAt         *time.Time              `db:"claimed_at"`
	HeartbeatAt       *time.Time              `db:"heartbeat_at"`
	AckPendingAt      *time.Time              `db:"ack_pending_at"`
	NextAttemptAt     *time.Time              `db:"next_attempt_at"` // of a job that is QUEUED again; nil: immediately
	MessageID         *int64                  `db:"message_id"`
	TelegramFileID    string                  `db:"telegram_file_id"`
	CancelRequestedAt *time.Time              `db:"cancel_requested_at"`
	WorkflowStartedAt *time.Time              `db:"workflow_started_at"`
	CreatedAt         time.Time               `db:"created_at"`
	UpdatedAt         time.Time               `db:"updated_at"`
	RowVersion        int64                   `db:"row_version"`

	UserStatus string    `db:"user_status"` // of the owner, now
	ChatID     *int64    `db:"chat_id"`     // the owner's Telegram chat
	FilePath   string    `db:"file_path"`   // in the shared folder
	Now        time.Time `db:"now"`         // the database's clock, used for all times above

	Sent *SentFile `db:"-"` // for Change: what is now on Telegram; recorded with the change
}

// WorkflowID is the id of the workflow that drives the job.
func (j Job) WorkflowID() string { return "delivery/" + j.IdempotencyKey }

// Facts are the inputs of the table's guards.
func (j Job) Facts() lifecycle.DeliveryFacts {
	return lifecycle.DeliveryFacts{Attempt: j.Attempt, UserActive: j.UserStatus == account.UserActive}
}

const jobSelect = `SELECT j.id, idempotency_key, user_id, file_id, file_name, j.size, source, state, attempt, claim, last_error,
	bytes_sent, claimed_at, heartbeat_at, ack_pending_at, next_attempt_at, message_id, telegram_file_id, cancel_requested_at,
	workflow_started_at, j.created_at, j.updated_at, row_version,
	u.status AS user_status, u.telegram_id AS chat_id, f.path AS file_path, now() AS now
	FROM jobs j JOIN users u ON u.id = j.user_id JOIN files f ON f.id = j.file_id `

var noJob = fault.New(fault.DeliveryNotFound, "there is no such delivery")

// Create records a request in its first state, with its event; a repeated idempotency key returns the existing job.
// QUOTA_EXCEEDED: the user has too many live jobs. It takes one round trip to PostgreSQL: a lock for the quota, and one
// statement whose last part reads what its first part created.
func (s *Store) Create(ctx context.Context, j Job, first core.Event) (job Job, created bool, err error) {
	if err := core.Compare(lifecycle.Delivery, lifecycle.DeliveryState(first.To), first); err != nil {
		return Job{}, false, err
	}

	live, batch := s.db.Quotas.Of(deliveryQuota), &pgx.Batch{}
	live.QueueLock(batch, j.UserID)
	batch.Queue(`WITH jobs AS (
			INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state)
			SELECT $1, $2, $3, $4, $5, $6, $7 WHERE `+live.Room(2, 2, 1)+`
			ON CONFLICT (idempotency_key) DO NOTHING RETURNING *
		), event AS (
			INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state, actor_id)
			SELECT $8, id::text, 1, user_id, $9, $7, user_id FROM jobs
		), board AS (
			INSERT INTO boards (workload, entity_id, chat_id)
			SELECT $8, jobs.id, telegram_id FROM jobs JOIN users ON users.id = user_id WHERE telegram_id IS NOT NULL
		) `+jobSelect,
		j.IdempotencyKey, j.UserID, j.FileID, j.FileName, j.Size, j.Source, first.To, lifecycle.WorkloadDelivery, first.Type).Query(func(rows pgx.Rows) error {
		job, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Job])
		return err
	})

	err = s.db.SendBatch(ctx, batch).Close()
	if !errors.Is(err, pgx.ErrNoRows) {
		return job, err == nil, core.Unavailable(err)
	}

	job, err = s.ByKey(ctx, j.IdempotencyKey) // the key already exists
	if err == noJob {
		err = live.Exceeded()
	}
	return job, false, err
}

// JobAndFile returns an idempotency key's job and a file, which may be gone, in one round trip; nil: none.
func (s *Store) JobAndFile(ctx context.Context, key string, fileID int64) (job *Job, file *File, err error) {
	batch := &pgx.Batch{}
	batch.Queue(jobSelect+`WHERE idempotency_key = $1`, key).Query(func(rows pgx.Rows) (err error) {
		job, err = core.Optional[Job](rows)
		return err
	})
	batch.Queue(`SELECT `+fileColumns+` FROM files WHERE id = $1`, fileID).Query(func(rows pgx.Rows) (err error) {
		file, err = core.Optional[File](rows)
		return err
	})

	err = s.db.SendBatch(ctx, batch).Close()
	return job, file, core.Unavailable(err)
}

// ByID returns a job.
func (s *Store) ByID(ctx context.Context, id int64) (Job, error) {
	return core.One[Job](ctx, s.db, noJob, jobSelect+`WHERE j.id = $1`, id)
}

// ByKey returns the job of an idempotency key.
func (s *Store) ByKey(ctx context.Context, key string) (Job, error) {
	return core.One[Job](ctx, s.db, noJob, jobSelect+`WHERE idempotency_key = $1`, key)
}

// Filter selects jobs; zero fields select all.
type Filter struct {
	UserID int64
	State  lifecycle.DeliveryState
	Live   bool
	Before int64 // ids below this one
	Limit  int
}

// List lists jobs, newest first. Served by the indexes jobs_owner, jobs_live and jobs_ended, and their counterparts for
// one user.
func (s *Store) List(ctx context.Context, f Filter) ([]Job, error) {
	return core.Chosen[Job](ctx, s.db, jobSelect+`WHERE ($1::bigint = 0 OR user_id = $1) AND ($2 = '' OR state = $2)
		AND ($3::bigint = 0 OR j.id < $3) AND (NOT $4 OR state IN `+liveJobs+`)
		ORDER BY j.id DESC LIMIT $5`, f.UserID, f.State, f.Before, f.Live, f.Limit)
}

// The transitions of a locked job.
type (
	JobWalk = core.Walk[Job, lifecycle.DeliveryState, lifecycle.DeliveryAction, lifecycle.DeliveryFacts]
	JobStep = core.Step[lifecycle.DeliveryState, lifecycle.DeliveryAction]
)

var jobs = &core.Workload[Job, lifecycle.DeliveryState, lifecycle.DeliveryAction, lifecycle.DeliveryFacts]{
	Name: lifecycle.WorkloadDelivery, Table: lifecycle.Delivery, None: noJob,
	Lock: []string{jobSelect + `WHERE j.id = $1 FOR UPDATE OF j`},
	Entity: func(j *Job) core.Entity[lifecycle.DeliveryState] {
		return core.Entity[lifecycle.DeliveryState]{
			ID: strconv.FormatInt(j.ID, 10), Owner: &j.UserID, State: &j.State, Version: &j.RowVersion,
		}
	},
	Facts: func(j *Job) lifecycle.DeliveryFacts { return j.Facts() },
	Write: queueJob,
}

// Change walks a job through the table: see core.Change.
func (s *Store) Change(ctx context.Context, id int64, decide func(*JobWalk) error) (Job, error) {
	return core.Change(ctx, s.db, jobs, id, decide)
}

// Claim is Change that also returns what Telegram has of the file's content as last listed.
func (s *Store) Claim(ctx context.Context, id int64, decide func(*JobWalk) error) (job Job, sent SentFile, err error) {
	job, err = s.ChangeFor(ctx, id, core.Asked{More: func(read *pgx.Batch) {
		read.Queue(`SELECT sha256, size, coalesce(telegram_file_id, '') AS file_id, coalesce(s.name, '') AS name
			FROM files f LEFT JOIN sent_files s USING (sha256, size) WHERE f.id = (SELECT file_id FROM jobs WHERE id = $1)`,
			id).Query(func(rows pgx.Rows) (err error) {
			sent, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[SentFile])
			return err
		})
	}}, decide)
	return job, sent, err
}

// ChangeFor is Change for a request, which is decided once: see core.ChangeFor.
func (s *Store) ChangeFor(ctx context.Context, id int64, asked core.Asked, decide func(*JobWalk) error) (Job, error) {
	return core.ChangeFor(ctx, s.db, jobs, id, asked, decide)
}

func queueJob(write *pgx.Batch, _ lifecycle.DeliveryState, job *Job) {
	write.Queue(`UPDATE jobs SET state = $2, attempt = $3, claim = $4, last_error = $5, bytes_sent = $6, claimed_at = $7,
		heartbeat_at = $8, ack_pending_at = $9, message_id = $10, telegram_file_id = $11, row_version = $12,
		next_attempt_at = $13, cancel_requested_at = $14, updated_at = now() WHERE id = $1`,
		job.ID, job.State, job.Attempt, job.Claim, job.LastError, job.BytesSent, job.ClaimedAt,
		job.HeartbeatAt, job.AckPendingAt, job.MessageID, job.TelegramFileID, job.RowVersion,
		job.NextAttemptAt, job.CancelRequestedAt)
	job.UpdatedAt = job.Now
	if job.Sent != nil {
		queueSentFile(write, *job.Sent)
	}
}

// Beat records a claim's progress. false: another claim holds the job, and the worker must stop.
func (s *Store) Beat(ctx context.Context, id int64, claim int, bytesSent int64) (bool, error) {
	tag, err := s.db.Exec(ctx, `UPDATE jobs SET bytes_sent = $3, heartbeat_at = now()
		WHERE id = $1 AND claim = $2 AND state IN `+heldJobs, id, claim, bytesSent)
	return tag.RowsAffected() == 1, core.Unavailable(err)
}

// MarkAckPending records that a claim is about to send the last bytes (or, with pending = false, that Telegram has
// refused them). false: another claim holds the job.
func (s *Store) MarkAckPending(ctx context.Context, id int64, claim int, pending bool) (bool, error) {
	tag, err := s.db.Exec(ctx, `UPDATE jobs SET ack_pending_at = CASE WHEN $3 THEN now() END, heartbeat_at = now()
		WHERE id = $1 AND claim = $2 AND state = `+core.Literal(lifecycle.DeliveryStreaming), id, claim, pending)
	return tag.RowsAffected() == 1, core.Unavailable(err)
}

// MarkStarted records that the job's workflow runs.
func (s *Store) MarkStarted(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE jobs SET workflow_started_at = coalesce(workflow_started_at, now()) WHERE id = $1`, id)
}

// Sets of states as used in the statements.
var (
	liveJobs  = core.SetOf(lifecycle.Delivery.Live())
	heldJobs  = core.SetOf(lifecycle.DeliveryHeld)
	endedJobs = core.SetOf(lifecycle.Delivery.Ended())
)
