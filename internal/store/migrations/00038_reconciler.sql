-- +goose NO TRANSACTION
-- +goose Up
-- The reconciler looks at differences. What a run that was stopped has left is no use.
SET statement_timeout = 0;

-- When sweeps began: the next ones look at what came later. A few rows.
CREATE TABLE IF NOT EXISTS reconciler_marks (
    at  timestamptz PRIMARY KEY,
    xid xid8 NOT NULL -- every event below it was visible
);

-- Live rows that a sweep could not settle: the next one tries again.
CREATE TABLE IF NOT EXISTS reconciler_unsettled (
    workload text        NOT NULL,
    entity   text        NOT NULL,
    tried_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workload, entity)
);

-- The last comparison of all live rows with all running workflows.
CREATE TABLE IF NOT EXISTS reconciler_comparisons (
    workload text PRIMARY KEY,
    began_at timestamptz NOT NULL,
    live     bigint      NOT NULL, -- rows
    running  bigint      NOT NULL  -- workflows
);

-- What is due for a reminder of the reconciler. Made beside the writers, however long that takes.
DROP INDEX CONCURRENTLY IF EXISTS download_jobs_untold;
CREATE INDEX CONCURRENTLY download_jobs_untold ON download_jobs (id)
    WHERE cancel_requested_at IS NOT NULL AND cancel_told_at IS NULL AND status IN ('queued', 'downloading');
DROP INDEX CONCURRENTLY IF EXISTS transactions_retry_at;
CREATE INDEX CONCURRENTLY transactions_retry_at ON transactions (retry_at)
    WHERE status = 'failed' AND retry_of = attempt AND retry_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS users_inactive;
CREATE INDEX CONCURRENTLY users_inactive ON users (updated_at) WHERE status <> 'ACTIVE';
RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
