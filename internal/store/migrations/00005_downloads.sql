-- +goose Up
-- After a vacuum the last errors are read from the index alone, as for deliveries.
CREATE TABLE download_events PARTITION OF events FOR VALUES IN ('download')
    WITH (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);
CREATE INDEX download_events_errors ON download_events (created_at, comment) WHERE type = 'failed' AND comment <> '';
CREATE INDEX download_events_actor ON download_events (actor_id, id) WHERE actor_id IS NOT NULL; -- what a user has done

-- Events of books' media.
CREATE TABLE book_events PARTITION OF events FOR VALUES IN ('book');
CREATE INDEX book_events_actor ON book_events (actor_id, id) WHERE actor_id IS NOT NULL;

-- The library. A book is in it (Library) if at least one of its media is available.
CREATE TABLE books (
    id         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    title      text        NOT NULL CHECK (char_length(title) BETWEEN 1 AND 500),
    author     text        NOT NULL DEFAULT '' CHECK (char_length(author) <= 500),
    folded     text        NOT NULL DEFAULT '',    -- title and author in the form used by searches
    state      text        NOT NULL DEFAULT 'Archive' CHECK (state IN ('Library', 'Archive')),
    creator_id bigint      NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX books_creator ON books (creator_id);

CREATE TABLE media_assets (
    book_id    bigint      NOT NULL REFERENCES books (id) ON DELETE CASCADE,
    media_type text        NOT NULL CHECK (media_type IN ('text', 'audio')),
    status     text        NOT NULL CHECK (status IN ('available', 'deleted', 'missing')),
    job_id     bigint      NOT NULL UNIQUE,             -- the download of this copy; no foreign key: the medium outlives it
    path       text        NOT NULL CHECK (path <> ''), -- in the library folder; where qBittorrent put it, if it begins with a slash or a drive
    source_url text        NOT NULL,                    -- of the first download; later ones keep it
    owner_id   bigint REFERENCES users (id),            -- supplied the link, and may see it; NULL: unknown
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (book_id, media_type)
);
CREATE INDEX media_assets_owner ON media_assets (owner_id);

-- The files that a download put into the library folder, in reading order. A medium's files are its download's.
CREATE TABLE library_files (
    job_id bigint   NOT NULL,                       -- no foreign key: they outlive it while a medium has them
    place  smallint NOT NULL CHECK (place > 0),
    path   text     NOT NULL CHECK (path <> ''),
    folded text COLLATE "C" NOT NULL UNIQUE,        -- the path as compared by a case-insensitive file system
    size   bigint   NOT NULL CHECK (size >= 0),     -- bytes
    PRIMARY KEY (job_id, place)
);

CREATE TABLE download_jobs (
    id                     bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    user_id                bigint      NOT NULL REFERENCES users (id),
    book_id                bigint      NOT NULL,                   -- no foreign key: a job outlives its book, and then fails
    media_type             text        NOT NULL CHECK (media_type IN ('text', 'audio')),
    status                 text        NOT NULL DEFAULT 'queued' CHECK (status IN
        ('queued', 'downloading', 'completed', 'failed', 'canceled')),
    source                 text        NOT NULL CHECK (char_length(source) BETWEEN 1 AND 100),
    source_url             text        NOT NULL CHECK (source_url <> ''),
    link_hash              bytea       NOT NULL GENERATED ALWAYS AS (sha256(replace(source_url, '\', '\\')::bytea)) STORED, -- so that comparisons do not read long links
    external_job_id        text,                                   -- the torrent's id in qBittorrent, as last seen; a hybrid's changes
    created_at_utc         timestamptz NOT NULL DEFAULT now(),
    updated_at_utc         timestamptz NOT NULL DEFAULT now(),
    completed_at_utc       timestamptz,
    first_not_found_at_utc timestamptz,
    failure_reason         text,
    last_error             text        NOT NULL DEFAULT '',        -- a fault code: why it failed or has to wait, in more detail
    other_category         text        NOT NULL DEFAULT '',        -- where qBittorrent has the torrent for someone else
    row_version            bigint      NOT NULL DEFAULT 1,

    -- The source being tried, if there are several. The columns about a torrent always refer to it.
    source_place           integer     NOT NULL DEFAULT 1 CHECK (source_place > 0),
    sources_left           integer     NOT NULL DEFAULT 0 CHECK (sources_left >= 0),   -- not tried yet, or abandoned for a completed one

    -- The torrent. Its infohashes come from the magnet link, the fetched .torrent and qBittorrent, never from a claim.
    infohash_v1            text        NOT NULL DEFAULT '' CHECK (infohash_v1 ~ '^([0-9a-f]{40})?$'),
    infohash_v2            text        NOT NULL DEFAULT '' CHECK (infohash_v2 ~ '^([0-9a-f]{64})?$'),
    torrent                bytea,                                  -- the fetched .torrent while the job is live: re-added without another fetch
    save_path              text        NOT NULL DEFAULT '',
    content_path           text        NOT NULL DEFAULT '',        -- known at the end
    size                   bigint      NOT NULL DEFAULT 0 CHECK (size >= 0),           -- bytes
    progress               double precision NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 1),
    speed                  bigint      NOT NULL DEFAULT 0 CHECK (speed >= 0),          -- bytes per second
    eta_seconds            bigint CHECK (eta_seconds >= 0),                            -- NULL: unknown

    -- Handing over to qBittorrent.
    added_at               timestamptz,                            -- qBittorrent accepted it

    -- Watching the torrent.
    resumed_at             timestamptz,                            -- after an error
    progress_at            timestamptz,                            -- of the last progress
    attention              text        NOT NULL DEFAULT '',        -- a fault code: why a person should check; empty: no need

    imported               boolean     NOT NULL DEFAULT false,     -- its files are in the library folder: the torrent may be removed
    left_out               integer     NOT NULL DEFAULT 0 CHECK (left_out >= 0),       -- files of the medium that were not put there

    -- A person's request to end it.
    cancel_requested_at    timestamptz,
    cancel_requested_by    bigint REFERENCES users (id),           -- NULL: an operator, or the program itself
    removing_at            timestamptz,                            -- its torrent is being removed: it can no longer complete
    cancel_error           text        NOT NULL DEFAULT '',        -- a fault code: why the last removal of the torrent failed
    keep_files             boolean     NOT NULL DEFAULT false,

    -- Sending to the chat.
    send                   boolean     NOT NULL DEFAULT false,     -- send its files to the owner once they have arrived
    sent_at                timestamptz,                            -- when their deliveries were created

    request_key            text,                                   -- the user's key: repeating the request makes no other job
    workflow_started_at    timestamptz,
    CHECK ((status = 'completed') = (completed_at_utc IS NOT NULL)),
    CHECK ((status = 'failed') = (failure_reason IS NOT NULL)),
    CHECK (status <> 'completed' OR content_path <> '')
) WITH (fillfactor = 80); -- the progress of active jobs is rewritten frequently
CREATE UNIQUE INDEX download_jobs_active ON download_jobs (user_id, book_id, media_type) WHERE status IN ('queued', 'downloading');
CREATE UNIQUE INDEX download_jobs_request ON download_jobs (user_id, request_key);
CREATE INDEX download_jobs_owner ON download_jobs (user_id, id DESC);
CREATE INDEX download_jobs_made ON download_jobs (user_id, created_at_utc);
CREATE INDEX download_jobs_book ON download_jobs (book_id, media_type, user_id, id DESC);
CREATE INDEX download_jobs_live ON download_jobs (id) WHERE status IN ('queued', 'downloading');
CREATE INDEX download_jobs_unstarted ON download_jobs (id) WHERE workflow_started_at IS NULL AND status IN ('queued', 'downloading');
CREATE INDEX download_jobs_unsent ON download_jobs (id) WHERE send AND sent_at IS NULL AND attention = '' AND status = 'completed';
CREATE INDEX download_jobs_ended ON download_jobs (status, id) WHERE status IN ('completed', 'failed', 'canceled');
CREATE INDEX download_jobs_ended_owner ON download_jobs (user_id, status, id) WHERE status IN ('completed', 'failed', 'canceled');

-- The sources of a download that has more than one.
CREATE TABLE download_sources (
    job_id      bigint   NOT NULL REFERENCES download_jobs (id) ON DELETE CASCADE,
    place       integer  NOT NULL CHECK (place > 0),
    source_url  text     NOT NULL CHECK (source_url <> ''),
    link_hash   bytea    NOT NULL GENERATED ALWAYS AS (sha256(replace(source_url, '\', '\\')::bytea)) STORED,
    title       text     NOT NULL DEFAULT '',
    indexer     text     NOT NULL DEFAULT '',               -- where the link was found
    size        bigint   NOT NULL DEFAULT 0 CHECK (size >= 0), -- bytes, according to the indexer
    claimed     text     NOT NULL DEFAULT '' CHECK (claimed ~ '^([0-9a-f]{40}|[0-9a-f]{64})?$'), -- the infohash claimed by the indexer or the user: only for people
    infohash_v1 text     NOT NULL DEFAULT '' CHECK (infohash_v1 ~ '^([0-9a-f]{40})?$'), -- of the magnet link, or as seen when the source was abandoned
    infohash_v2 text     NOT NULL DEFAULT '' CHECK (infohash_v2 ~ '^([0-9a-f]{64})?$'),
    outcome     text     NOT NULL DEFAULT '',               -- a fault code: why another is tried; empty: untried, or being tried
    PRIMARY KEY (job_id, place)
);

-- The outcome of polling qBittorrent: one row.
CREATE TABLE download_sync (
    one             boolean PRIMARY KEY DEFAULT true CHECK (one),
    polled_at       timestamptz,                       -- the last answer
    reachable_since timestamptz,                       -- every poll since was answered, by the same run of qBittorrent
    failed_at       timestamptz,                       -- the last poll without an answer
    failure         text        NOT NULL DEFAULT ''    -- a fault code, while qBittorrent is unavailable
);
INSERT INTO download_sync DEFAULT VALUES;

-- +goose Down
SELECT 1; -- forward only
