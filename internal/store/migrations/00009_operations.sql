-- +goose Up
-- What the reconciler found to differ between the record and Temporal: one row an incident, however often it was looked at.
CREATE TABLE reconciler_findings (
    id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    found_at    timestamptz NOT NULL DEFAULT now(),
    seen_at     timestamptz NOT NULL DEFAULT now(),    -- by the last sweep that met it
    workload    text        NOT NULL CHECK (workload IN ('delivery', 'task', 'download', 'transaction')),
    entity      text        NOT NULL,                  -- its id, or without a row the end of the workflow's id
    workflow_id text        NOT NULL,
    run_id      text        NOT NULL DEFAULT '',       -- of the workflow, where there is one
    finding     text        NOT NULL CHECK (finding <> ''),
    done        text        NOT NULL DEFAULT '',       -- what was done about it; empty: nothing yet
    done_at     timestamptz,
    CHECK ((done = '') = (done_at IS NULL))
);
CREATE INDEX reconciler_findings_of ON reconciler_findings (workload, entity);
CREATE INDEX reconciler_findings_time ON reconciler_findings (found_at);
CREATE INDEX reconciler_findings_open ON reconciler_findings (seen_at) WHERE done = '';

-- The last comparison of all live rows with all running workflows.
CREATE TABLE reconciler_comparisons (
    workload text PRIMARY KEY,
    began_at timestamptz NOT NULL,
    live     bigint      NOT NULL, -- rows
    running  bigint      NOT NULL  -- workflows
);

-- How calls of the systems outside went last, as their callers saw it.
CREATE TABLE outside_systems (
    name          text PRIMARY KEY,
    succeeded_at  timestamptz,
    failed_at     timestamptz,
    error         text NOT NULL DEFAULT '',            -- a fault code: of the last failure
    failing_since timestamptz                          -- no success since; NULL: the last call succeeded
);

-- What the processes of ours say of themselves, every few seconds. One that ended is forgotten after a while.
CREATE TABLE processes (
    identity     text PRIMARY KEY,                     -- as Temporal knows it
    service      text        NOT NULL,                 -- worker, api
    version      text        NOT NULL,
    carries      int         NOT NULL DEFAULT 0,       -- activities that run in it now
    started_at   timestamptz NOT NULL,
    beat_at      timestamptz NOT NULL DEFAULT now()
);

-- How many rows there are of each kind, as of counted_at. Those that may still change are counted anew each time; the others are added
-- up from the events that were invisible in the snapshot mark.
CREATE TABLE counts (
    kind  text    NOT NULL,
    key   text    NOT NULL,
    n     bigint  NOT NULL,
    ended boolean NOT NULL,
    PRIMARY KEY (kind, key)
);

-- The last count: one row.
CREATE TABLE counted (
    one          boolean PRIMARY KEY DEFAULT true CHECK (one),
    mark         pg_snapshot, -- of the rows in counts; NULL: all are read next time
    counted_at   timestamptz, -- NULL: at once
    recounted_at timestamptz  -- when the ended rows were read last
);
INSERT INTO counted DEFAULT VALUES;

-- +goose Down
SELECT 1; -- forward only
