-- +goose NO TRANSACTION
-- +goose Up
-- Made beside the writers, however long that takes. What a try that was stopped has left is no use.
SET statement_timeout = 0;

-- What a person has said about tasks, to take it away when the person is forgotten.
DROP INDEX CONCURRENTLY IF EXISTS task_events_said;
CREATE INDEX CONCURRENTLY task_events_said ON task_events (actor_id) WHERE comment <> '';

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
