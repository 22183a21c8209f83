-- +goose Up
-- After a vacuum the last errors are read from the index alone: run it after this many new rows, not a fifth of the table.
CREATE TABLE job_events PARTITION OF events FOR VALUES IN ('delivery')
    WITH (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);
CREATE INDEX job_events_errors ON job_events (created_at, comment) WHERE type IN ('requeued', 'failed') AND comment <> '';
CREATE INDEX job_events_actor ON job_events (actor_id, id) WHERE actor_id IS NOT NULL; -- what a user has done

-- The shared folder's content, as last seen. A row stays when its file is gone: jobs reference it.
CREATE TABLE files (
    id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    path        text        NOT NULL UNIQUE,       -- in the shared folder, "/" at the top
    parent      text        NOT NULL,
    name        text        NOT NULL,
    folded      text        NOT NULL DEFAULT '',   -- the name in the form used by searches, whatever the database's locale
    is_folder   boolean     NOT NULL,
    size        bigint      NOT NULL DEFAULT 0 CHECK (size >= 0),
    sha256      text        NOT NULL DEFAULT '',
    modified_at timestamptz NOT NULL,
    place       int         NOT NULL DEFAULT 0,    -- among its folder's entries, in the storage's order by name
    gone        boolean     NOT NULL DEFAULT false
);
CREATE INDEX files_listing ON files (parent, is_folder DESC, place, id) WHERE NOT gone;

-- A search reads the names in result order and stops after a page.
CREATE INDEX files_named ON files (is_folder DESC, folded, id) WHERE NOT gone AND path <> '/';

CREATE TABLE listings (
    path      text PRIMARY KEY,
    listed_at timestamptz NOT NULL
);

-- Content already on Telegram: resent by file_id, without moving bytes.
CREATE TABLE sent_files (
    sha256           text        NOT NULL,
    size             bigint      NOT NULL,
    telegram_file_id text        NOT NULL,
    name             text        NOT NULL,
    updated_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sha256, size)
);

CREATE TABLE jobs (
    id                  bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    idempotency_key     text        NOT NULL UNIQUE CHECK (idempotency_key ~ '^[0-9a-f]{64}$'),
    user_id             bigint      NOT NULL REFERENCES users (id),
    file_id             bigint      NOT NULL REFERENCES files (id),
    file_name           text        NOT NULL,
    size                bigint      NOT NULL CHECK (size >= 0),
    source              text        NOT NULL CHECK (source IN ('bot', 'api')),
    state               text        NOT NULL DEFAULT 'QUEUED' CHECK (state IN
        ('QUEUED', 'CLAIMED', 'DOWNLOADING', 'STREAMING', 'DELIVERED', 'FAILED', 'CANCELLED', 'EXPIRED')),
    attempt             int         NOT NULL DEFAULT 0 CHECK (attempt BETWEEN 0 AND 3),
    next_attempt_at     timestamptz,                       -- when the next attempt may begin, in the queue; NULL: immediately
    claim               int         NOT NULL DEFAULT 0,    -- number of the current claim: fences off an abandoned worker
    last_error          text        NOT NULL DEFAULT '',   -- a fault code
    bytes_sent          bigint      NOT NULL DEFAULT 0,
    claimed_at          timestamptz,
    heartbeat_at        timestamptz,
    ack_pending_at      timestamptz,                       -- the last bytes were released; until an answer the outcome is unknown
    message_id          bigint,
    telegram_file_id    text        NOT NULL DEFAULT '',
    cancel_requested_at timestamptz,
    workflow_started_at timestamptz,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    row_version         bigint      NOT NULL DEFAULT 1,
    CHECK (state <> 'DELIVERED' OR message_id IS NOT NULL),
    CHECK (state <> 'FAILED' OR last_error <> ''),
    CHECK (state NOT IN ('CLAIMED', 'DOWNLOADING', 'STREAMING') OR (heartbeat_at IS NOT NULL AND claimed_at IS NOT NULL))
);
CREATE INDEX jobs_owner ON jobs (user_id, id DESC);
CREATE INDEX jobs_live ON jobs (state, id) WHERE state IN ('QUEUED', 'CLAIMED', 'DOWNLOADING', 'STREAMING');
CREATE INDEX jobs_unstarted ON jobs (id)
    WHERE workflow_started_at IS NULL AND state IN ('QUEUED', 'CLAIMED', 'DOWNLOADING', 'STREAMING');
CREATE INDEX jobs_live_owner ON jobs (user_id) WHERE state IN ('QUEUED', 'CLAIMED', 'DOWNLOADING', 'STREAMING');

-- Held jobs by the age of their heartbeat: those with a silent worker come first.
CREATE INDEX jobs_held ON jobs (heartbeat_at) WHERE state IN ('CLAIMED', 'DOWNLOADING', 'STREAMING');

-- Indexes of ended rows are written once in a row's life.
CREATE INDEX jobs_ended ON jobs (state, id) WHERE state IN ('DELIVERED', 'FAILED', 'CANCELLED', 'EXPIRED');
CREATE INDEX jobs_ended_owner ON jobs (user_id, state, id) WHERE state IN ('DELIVERED', 'FAILED', 'CANCELLED', 'EXPIRED');

-- +goose Down
SELECT 1; -- forward only
