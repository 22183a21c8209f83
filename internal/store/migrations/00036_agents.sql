-- +goose NO TRANSACTION
-- +goose Up
-- A user may own agents: programs with tokens of their own. Processes of an earlier release take them for users like any others, so none are
-- made while such a process runs. CONCURRENTLY: other releases go on working meanwhile. A build that was broken off leaves an invalid
-- index, hence the drops.
SET statement_timeout = 0;
ALTER TABLE users ADD COLUMN IF NOT EXISTS owner_id bigint REFERENCES users (id); -- NULL: a person, or a program without an owner

DROP INDEX CONCURRENTLY IF EXISTS users_owner;
CREATE INDEX CONCURRENTLY users_owner ON users (owner_id, id) WHERE owner_id IS NOT NULL;

-- What a user has done, the newest first.
DROP INDEX CONCURRENTLY IF EXISTS job_events_actor;
CREATE INDEX CONCURRENTLY job_events_actor ON job_events (actor_id, id) WHERE actor_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS task_events_actor;
CREATE INDEX CONCURRENTLY task_events_actor ON task_events (actor_id, id) WHERE actor_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS download_events_actor;
CREATE INDEX CONCURRENTLY download_events_actor ON download_events (actor_id, id) WHERE actor_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS transaction_events_actor;
CREATE INDEX CONCURRENTLY transaction_events_actor ON transaction_events (actor_id, id) WHERE actor_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS book_events_actor;
CREATE INDEX CONCURRENTLY book_events_actor ON book_events (actor_id, id) WHERE actor_id IS NOT NULL;

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
