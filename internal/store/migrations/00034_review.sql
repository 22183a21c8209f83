-- +goose Up
-- The results of tasks, and their review. A process of 0.1.0 knows neither: it leaves the new columns alone, so a workspace should ask for
-- reviews only when all processes are of this release. Constant defaults rewrite no row.
ALTER TABLE workspaces ADD COLUMN review_required boolean NOT NULL DEFAULT false; -- DONE needs an approved submission
ALTER TABLE tasks
    ADD COLUMN submission bigint,                          -- number of the event of the present assignee's newest result; NULL: there is none
    ADD COLUMN approved   boolean NOT NULL DEFAULT false;  -- that one

-- json keeps a result as it was sent: the digits of numbers, the order of fields, and \u0000, which jsonb refuses. Retention deletes a task's
-- results with the task, in processes of 0.1.0 too.
CREATE TABLE task_submissions (
    task_id    bigint      NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    seq        bigint      NOT NULL,                       -- of its event
    author_id  bigint      NOT NULL REFERENCES users (id),
    result     json        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (task_id, seq)
);

-- +goose Down
SELECT 1; -- forward only
