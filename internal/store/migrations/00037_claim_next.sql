-- +goose NO TRANSACTION
-- +goose Up
-- The tasks that can be claimed once their blockers are DONE, the best of a workspace first. Made beside the writers, however long that takes.
-- What a run that was stopped has left is no use.
SET statement_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS tasks_next;
CREATE INDEX CONCURRENTLY tasks_next ON tasks
    (workspace_id, (CASE priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2 ELSE 3 END), id)
    WHERE status = 'NEW' AND assignee_id IS NULL AND visibility = 'public';
RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
