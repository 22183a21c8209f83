-- +goose Up
-- When the next attempt of a delivery in the queue may begin; NULL: at once. A process of a release before leaves it as it is.
ALTER TABLE jobs ADD COLUMN next_attempt_at timestamptz;

-- Held jobs by the age of their heartbeat: those whose worker is silent are the first ones.
CREATE INDEX jobs_held ON jobs (heartbeat_at) WHERE state IN ('CLAIMED', 'DOWNLOADING', 'STREAMING');

-- +goose Down
SELECT 1; -- forward only
