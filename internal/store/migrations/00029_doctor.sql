-- +goose Up
-- What each process has found with its own credentials: one row a process and system, written at its start and once per request. A
-- process of release 0.1.0 neither reads nor writes here.
CREATE TABLE process_checks (
    identity text        NOT NULL,                -- of the process, as in processes
    system   text        NOT NULL,
    state    text        NOT NULL CHECK (state IN ('works', 'refused', 'unreachable', 'unverified', 'off')),
    account  text        NOT NULL DEFAULT '',     -- who the process is there; no secret, and no person's name
    detail   text        NOT NULL DEFAULT '',
    code     text        NOT NULL DEFAULT '',     -- a fault code
    next     text        NOT NULL DEFAULT '',     -- what an administrator can do
    request  bigint      NOT NULL,                -- the last one that this answers; 0: made at the start
    found_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (identity, system)
);

-- The last request of an administrator for new checks. There is one row at most.
CREATE TABLE check_requests (
    single   boolean     PRIMARY KEY DEFAULT true CHECK (single),
    number   bigint      NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
SELECT 1; -- forward only
