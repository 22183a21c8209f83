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
    identity   text PRIMARY KEY,                       -- as Temporal knows it
    service    text        NOT NULL,                   -- worker, api
    version    text        NOT NULL,
    carries    int         NOT NULL DEFAULT 0,         -- activities that run in it now
    started_at timestamptz NOT NULL,
    beat_at    timestamptz NOT NULL DEFAULT now()
);

-- An incident that comes back soon is the same one: who looks for the last of its kind finds it.
CREATE INDEX alerts_last ON alerts (kind, resolved_at);

-- +goose Down
SELECT 1; -- forward only
