-- +goose Up
-- What one user has of each kind is counted, up to a limit, whenever they make another one. Downloads have an index that begins with
-- the user already, members of a workspace have their primary key.
CREATE INDEX tasks_live_creator ON tasks (creator_id) WHERE status NOT IN ('DONE', 'CANCELLED');
CREATE INDEX jobs_live_owner ON jobs (user_id) WHERE state IN ('QUEUED', 'CLAIMED', 'DOWNLOADING', 'STREAMING');
CREATE INDEX workspaces_owner ON workspaces (owner_id);
CREATE INDEX books_creator ON books (creator_id);

-- How often a task has gone back from STUCK to NEW by itself since a person last acted on it: each time it waits longer.
ALTER TABLE tasks ADD COLUMN releases integer NOT NULL DEFAULT 0;

-- +goose Down
SELECT 1; -- forward only
