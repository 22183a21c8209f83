-- +goose Up
-- What the next words in a chat are for, when the menu has asked for some.
ALTER TABLE conversations ADD COLUMN ask text NOT NULL DEFAULT '';

-- Who is told of a task: whoever made it, was given it at its creation, or has done or said something about it.
CREATE TABLE task_watchers (
    task_id bigint NOT NULL REFERENCES tasks (id),
    user_id bigint NOT NULL REFERENCES users (id),
    PRIMARY KEY (task_id, user_id)
);

-- One row for each person who is to hear of a change, whatever came of it. The rows of a person and a task that are due
-- together make one message.
CREATE TABLE notices (
    user_id bigint      NOT NULL REFERENCES users (id),
    task_id bigint      NOT NULL REFERENCES tasks (id),
    seq     bigint      NOT NULL,                    -- the task's event; 0: its last blocker is DONE
    state   text        NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'sending', 'sent', 'unknown', 'lost')),
    due_at  timestamptz NOT NULL,
    PRIMARY KEY (user_id, task_id, seq)
);
CREATE INDEX notices_due ON notices (due_at) WHERE state = 'due';

-- How far the events are told: one row. Nothing that happens after the migration is left out.
CREATE TABLE notice_cursor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    xid xid8   NOT NULL,
    id  bigint NOT NULL
);
INSERT INTO notice_cursor (xid, id) VALUES (pg_snapshot_xmin(pg_current_snapshot()), 0);

-- +goose Down
SELECT 1; -- forward only
