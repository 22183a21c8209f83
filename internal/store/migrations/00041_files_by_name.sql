-- +goose NO TRANSACTION
-- +goose Up
-- A search in the shared folder reads the names in the order of its answer and stops after a page, where it sorted all that matched.
-- CONCURRENTLY: other releases go on working meanwhile. A build that was broken off leaves an invalid index, hence the drop.
SET statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS files_named;
CREATE INDEX CONCURRENTLY files_named ON files (is_folder DESC, folded, id) WHERE NOT gone AND path <> '/';

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
