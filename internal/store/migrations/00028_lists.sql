-- +goose NO TRANSACTION
-- +goose Up
-- Each list is read by an index of what it was asked for, however many rows of other kinds there are. Indexes of what has ended are
-- written once in a row's life; those of live rows are there already. CONCURRENTLY: other releases go on working meanwhile. A build that
-- was broken off leaves an invalid index, hence the drops.
SET statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS jobs_ended;
DROP INDEX CONCURRENTLY IF EXISTS jobs_ended_owner;
CREATE INDEX CONCURRENTLY jobs_ended ON jobs (state, id) WHERE state IN ('DELIVERED', 'FAILED', 'CANCELLED', 'EXPIRED');
CREATE INDEX CONCURRENTLY jobs_ended_owner ON jobs (user_id, state, id) WHERE state IN ('DELIVERED', 'FAILED', 'CANCELLED', 'EXPIRED');

DROP INDEX CONCURRENTLY IF EXISTS tasks_creator;
DROP INDEX CONCURRENTLY IF EXISTS tasks_ended;
DROP INDEX CONCURRENTLY IF EXISTS tasks_live_assignee;
DROP INDEX CONCURRENTLY IF EXISTS tasks_workspace_status;
CREATE INDEX CONCURRENTLY tasks_creator ON tasks (creator_id, id DESC);
CREATE INDEX CONCURRENTLY tasks_ended ON tasks (status, id) WHERE status IN ('DONE', 'CANCELLED');
CREATE INDEX CONCURRENTLY tasks_live_assignee ON tasks (assignee_id, id) WHERE status NOT IN ('DONE', 'CANCELLED');
CREATE INDEX CONCURRENTLY tasks_workspace_status ON tasks (workspace_id, status, id DESC);

DROP INDEX CONCURRENTLY IF EXISTS download_jobs_ended;
DROP INDEX CONCURRENTLY IF EXISTS download_jobs_ended_owner;
CREATE INDEX CONCURRENTLY download_jobs_ended ON download_jobs (status, id) WHERE status IN ('completed', 'failed', 'canceled');
CREATE INDEX CONCURRENTLY download_jobs_ended_owner ON download_jobs (user_id, status, id) WHERE status IN ('completed', 'failed', 'canceled');

DROP INDEX CONCURRENTLY IF EXISTS transactions_retryable;
CREATE INDEX CONCURRENTLY transactions_retryable ON transactions (id) WHERE status = 'failed' AND error_class <> 'non-retryable';

DROP INDEX CONCURRENTLY IF EXISTS users_status;
CREATE INDEX CONCURRENTLY users_status ON users (status, id);

-- The last errors are read from an index alone where a vacuum has passed: after so many new rows, and not after a fifth of the table.
ALTER TABLE job_events SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);
ALTER TABLE download_events SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);
ALTER TABLE transaction_events SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
