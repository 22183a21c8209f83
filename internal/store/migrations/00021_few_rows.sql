-- +goose NO TRANSACTION
-- +goose Up
-- Made beside the writers, however long that takes. What a try that was stopped has left is no use.
SET statement_timeout = 0;

-- The last errors of each workload, for the status.
DROP INDEX CONCURRENTLY IF EXISTS job_events_errors;
DROP INDEX CONCURRENTLY IF EXISTS download_events_errors;
DROP INDEX CONCURRENTLY IF EXISTS transaction_events_errors;
CREATE INDEX CONCURRENTLY job_events_errors ON job_events (created_at, comment) WHERE type IN ('requeued', 'failed') AND comment <> '';
CREATE INDEX CONCURRENTLY download_events_errors ON download_events (created_at, comment) WHERE type = 'failed' AND comment <> '';
CREATE INDEX CONCURRENTLY transaction_events_errors ON transaction_events (created_at, comment) WHERE type = 'failed' AND comment <> '';

-- Who is to be notified next, person by person.
DROP INDEX CONCURRENTLY IF EXISTS news_next;
CREATE INDEX CONCURRENTLY news_next ON news (user_id, due_at) WHERE state = 'due';

-- Alerts of which somebody has to hear still.
DROP INDEX CONCURRENTLY IF EXISTS alerts_unsent;
CREATE INDEX CONCURRENTLY alerts_unsent ON alerts (id) WHERE sent_at IS NULL OR over_sent_at IS NULL;

-- What happened in a workspace lately.
DROP INDEX CONCURRENTLY IF EXISTS tasks_changed;
CREATE INDEX CONCURRENTLY tasks_changed ON tasks (workspace_id, updated_at DESC);

-- What becomes of books' media; and when their files were looked at last: one row.
CREATE TABLE IF NOT EXISTS book_events PARTITION OF events FOR VALUES IN ('book');
CREATE TABLE IF NOT EXISTS media_sweep (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    swept_at timestamptz
);
INSERT INTO media_sweep DEFAULT VALUES ON CONFLICT DO NOTHING;

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
