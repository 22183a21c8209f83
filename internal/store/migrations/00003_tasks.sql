-- +goose Up
CREATE TABLE task_events PARTITION OF events FOR VALUES IN ('task');

CREATE TABLE workspaces (
    id                             bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name                           text             NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
    owner_id                       bigint           NOT NULL REFERENCES users (id),
    status_deadlines               jsonb            NOT NULL,           -- {"NEW": 120, …}: minutes, 0 means none
    stuck_release_after            double precision NOT NULL DEFAULT 0 CHECK (stuck_release_after >= 0), -- minutes, 0 means never
    new_deadline_waits_for_blockers boolean         NOT NULL DEFAULT false,
    created_at                     timestamptz      NOT NULL DEFAULT now(),
    updated_at                     timestamptz      NOT NULL DEFAULT now()
);
CREATE TABLE workspace_members (
    workspace_id bigint      NOT NULL REFERENCES workspaces (id),
    user_id      bigint      NOT NULL REFERENCES users (id),
    joined_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_members_user ON workspace_members (user_id);

CREATE TABLE tasks (
    id                  bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    workspace_id        bigint      NOT NULL REFERENCES workspaces (id),
    title               text        NOT NULL CHECK (char_length(title) BETWEEN 5 AND 200),
    description         text        NOT NULL DEFAULT '',
    visibility          text        NOT NULL DEFAULT 'public' CHECK (visibility IN ('public', 'private')),
    priority            text        NOT NULL DEFAULT 'normal' CHECK (priority IN ('low', 'normal', 'high', 'critical')),
    labels              text[]      NOT NULL DEFAULT '{}',
    creator_id          bigint      NOT NULL REFERENCES users (id),
    assignee_id         bigint REFERENCES users (id),
    status              text        NOT NULL DEFAULT 'NEW' CHECK (status IN
        ('NEW', 'IN_PROGRESS', 'BLOCKED', 'STUCK', 'DONE', 'CANCELLED')),
    since               timestamptz NOT NULL DEFAULT now(),  -- when the status was entered
    status_deadline_at  timestamptz,
    release_at          timestamptz,                         -- when a STUCK task goes back to NEW by itself
    clock_waits         boolean     NOT NULL DEFAULT false,  -- NEW, and its deadline begins with its last blocker's end
    started_at          timestamptz,                         -- first IN_PROGRESS
    finished_at         timestamptz,                         -- DONE or CANCELLED
    request_id          text        NOT NULL DEFAULT '',     -- who wrote this version: an update's id
    row_version         bigint      NOT NULL DEFAULT 1,      -- the workflow's count of its writes
    last_seq            bigint      NOT NULL DEFAULT 1,      -- of the task's events; comments count too, so it is not row_version
    workflow_started_at timestamptz,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    CHECK (status_deadline_at IS NULL OR status IN ('NEW', 'IN_PROGRESS', 'BLOCKED')),
    CHECK (release_at IS NULL OR status = 'STUCK'),
    CHECK (NOT clock_waits OR (status = 'NEW' AND status_deadline_at IS NULL)),
    CHECK (assignee_id IS NOT NULL OR status NOT IN ('IN_PROGRESS', 'BLOCKED', 'DONE')),
    CHECK ((finished_at IS NULL) = (status NOT IN ('DONE', 'CANCELLED')))
);
CREATE INDEX tasks_workspace ON tasks (workspace_id, id DESC);
CREATE INDEX tasks_assignee ON tasks (assignee_id, id DESC);
CREATE INDEX tasks_live ON tasks (id) WHERE status NOT IN ('DONE', 'CANCELLED');

-- Given at creation, never changed.
CREATE TABLE task_blockers (
    task_id    bigint NOT NULL REFERENCES tasks (id),
    blocker_id bigint NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, blocker_id),
    CHECK (task_id <> blocker_id)
);
CREATE INDEX task_blockers_blocker ON task_blockers (blocker_id);

-- The first answer to each Idempotency-Key: a repeat gives it again, for ever.
CREATE TABLE answers (
    user_id    bigint      NOT NULL REFERENCES users (id),
    key        text        NOT NULL,
    request    text        NOT NULL,                         -- what was asked: the same key for something else is a mistake
    answer     jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
);

-- +goose Down
SELECT 1; -- forward only
