-- +goose Up
-- Differences that the reconciler found between the record and Temporal: one row per incident, however often it was found.
CREATE TABLE reconciler_findings (
    id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    found_at    timestamptz NOT NULL DEFAULT now(),
    seen_at     timestamptz NOT NULL DEFAULT now(),    -- by the last sweep that found it
    workload    text        NOT NULL CHECK (workload IN ('delivery', 'task', 'download', 'transaction')),
    entity      text        NOT NULL,                  -- its id, or without a row the end of the workflow's id
    workflow_id text        NOT NULL,
    run_id      text        NOT NULL DEFAULT '',       -- of the workflow, if any
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
    workload    text PRIMARY KEY,
    began_at    timestamptz NOT NULL,
    answered_at timestamptz NOT NULL, -- all workflows whose rows were older then have reported their revisions
    live        bigint      NOT NULL, -- rows
    running     bigint      NOT NULL  -- workflows
);

-- The outcome of the last calls to external systems, as seen by their callers.
CREATE TABLE outside_systems (
    name          text PRIMARY KEY,
    succeeded_at  timestamptz,
    failed_at     timestamptz,
    error         text NOT NULL DEFAULT '',            -- a fault code: of the last failure
    failing_since timestamptz                          -- no success since; NULL: the last call succeeded
);
ALTER TABLE outside_systems ENABLE ROW LEVEL SECURITY;
CREATE POLICY payments ON outside_systems USING (name IN ('postgresql', 'temporal', 'toncenter', 'fragment'));

-- What our processes report about themselves, every few seconds. An ended one is forgotten after a while.
CREATE TABLE processes (
    identity     text PRIMARY KEY,                     -- in Temporal
    service      text        NOT NULL,                 -- worker, api
    version      text        NOT NULL,
    carries      int         NOT NULL DEFAULT 0,       -- activities currently running in it
    started_at   timestamptz NOT NULL,
    beat_at      timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE processes ENABLE ROW LEVEL SECURITY;
CREATE POLICY payments ON processes USING (service = 'worker');

-- Whether heartbeats could reach us: the newest heartbeat of any API process, and the last time there was none.
CREATE TABLE api_presence (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    beat_at    timestamptz NOT NULL DEFAULT now(),
    away_since timestamptz,                            -- NULL: never yet
    back_at    timestamptz
);

-- The number of rows of each kind, as of counted_at. Those that may still change are counted anew each time; the others are
-- added up from the events that were invisible in the snapshot mark.
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
    counted_at   timestamptz, -- when the counts were taken; NULL: there are none
    recounted_at timestamptz  -- when the ended rows were last read
);
INSERT INTO counted DEFAULT VALUES;

-- +goose Down
SELECT 1; -- forward only
