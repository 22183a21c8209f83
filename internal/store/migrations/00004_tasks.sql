-- +goose Up
CREATE TABLE task_events PARTITION OF events FOR VALUES IN ('task');
CREATE INDEX task_events_actor ON task_events (actor_id, id) WHERE actor_id IS NOT NULL; -- what a user has done

-- A person's comments on tasks, to remove them when the person is forgotten.
CREATE INDEX task_events_said ON task_events (actor_id) WHERE comment <> '';

CREATE TABLE workspaces (
    id                             bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name                           text             NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
    owner_id                       bigint           NOT NULL REFERENCES users (id),
    status_deadlines               jsonb            NOT NULL,           -- {"NEW": 120, …}: minutes, 0 means none
    stuck_release_after            double precision NOT NULL DEFAULT 0 CHECK (stuck_release_after >= 0), -- minutes, 0 means never
    new_deadline_waits_for_blockers boolean         NOT NULL DEFAULT false,
    review_required                boolean          NOT NULL DEFAULT false, -- DONE needs an approved submission
    created_at                     timestamptz      NOT NULL DEFAULT now(),
    updated_at                     timestamptz      NOT NULL DEFAULT now()
);
CREATE INDEX workspaces_owner ON workspaces (owner_id);

CREATE TABLE workspace_members (
    workspace_id bigint      NOT NULL REFERENCES workspaces (id),
    user_id      bigint      NOT NULL REFERENCES users (id),
    joined_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_members_user ON workspace_members (user_id);

-- Invitations to workspaces. An invited user becomes a member only by agreeing: until then nothing of the workspace is
-- visible to them.
CREATE TABLE workspace_invitations (
    id           bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    workspace_id bigint      NOT NULL REFERENCES workspaces (id),
    user_id      bigint      NOT NULL REFERENCES users (id),  -- a person, or a program without an owner
    invited_by   bigint      NOT NULL REFERENCES users (id),
    invited_at   timestamptz NOT NULL DEFAULT now(),
    refused_at   timestamptz,                                 -- for good: the user is not invited again
    UNIQUE (workspace_id, user_id)
);
CREATE INDEX workspace_invitations_user ON workspace_invitations (user_id, id);

CREATE TABLE tasks (
    id                  bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    workspace_id        bigint      NOT NULL REFERENCES workspaces (id),
    title               text        NOT NULL CHECK (char_length(title) BETWEEN 1 AND 200),
    description         text        NOT NULL DEFAULT '',
    folded              text        NOT NULL DEFAULT '',    -- title and description in the form used by searches
    visibility          text        NOT NULL DEFAULT 'public' CHECK (visibility IN ('public', 'private')),
    priority            text        NOT NULL DEFAULT 'normal' CHECK (priority IN ('low', 'normal', 'high', 'critical')),
    labels              text[]      NOT NULL DEFAULT '{}',
    creator_id          bigint      NOT NULL REFERENCES users (id),
    assignee_id         bigint REFERENCES users (id),
    status              text        NOT NULL DEFAULT 'NEW' CHECK (status IN
        ('NEW', 'IN_PROGRESS', 'BLOCKED', 'STUCK', 'DONE', 'CANCELLED')),
    since               timestamptz NOT NULL DEFAULT now(),  -- when the status was entered
    status_deadline_at  timestamptz,
    release_at          timestamptz,                         -- when a STUCK task automatically becomes NEW
    releases            integer     NOT NULL DEFAULT 0,      -- releases since a person last acted: each time the wait is longer
    clock_waits         boolean     NOT NULL DEFAULT false,  -- NEW, and its deadline begins when its last blocker ends
    fencing_token       bigint      NOT NULL DEFAULT 0,      -- grows with the beginning and the end of each claim
    lease_seconds       bigint,                              -- how long the holder may be silent; NULL: forever
    lease_expires_at    timestamptz,                         -- when the claim ends unless renewed
    submission          bigint,                              -- event number of the current assignee's newest result; NULL: none
    approved            boolean     NOT NULL DEFAULT false,  -- the submission
    rejected            boolean     NOT NULL DEFAULT false,  -- the submission
    started_at          timestamptz,                         -- first IN_PROGRESS
    finished_at         timestamptz,                         -- DONE or CANCELLED
    last_seq            bigint      NOT NULL DEFAULT 1,      -- of the task's events: the version of the row
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
CREATE INDEX tasks_workspace_status ON tasks (workspace_id, status, id DESC);
CREATE INDEX tasks_changed ON tasks (workspace_id, updated_at DESC);
CREATE INDEX tasks_assignee ON tasks (assignee_id, id DESC);
CREATE INDEX tasks_creator ON tasks (creator_id, id DESC);
CREATE INDEX tasks_live ON tasks (id) WHERE status NOT IN ('DONE', 'CANCELLED');
CREATE INDEX tasks_unstarted ON tasks (id) WHERE workflow_started_at IS NULL AND status NOT IN ('DONE', 'CANCELLED');
CREATE INDEX tasks_live_status ON tasks (status) WHERE status NOT IN ('DONE', 'CANCELLED');
CREATE INDEX tasks_live_assignee ON tasks (assignee_id, id) WHERE status NOT IN ('DONE', 'CANCELLED');
CREATE INDEX tasks_live_creator ON tasks (creator_id) WHERE status NOT IN ('DONE', 'CANCELLED');
CREATE INDEX tasks_ended ON tasks (status, id) WHERE status IN ('DONE', 'CANCELLED');

-- The tasks that can be claimed once their blockers are DONE, the best of a workspace first.
CREATE INDEX tasks_next ON tasks
    (workspace_id, (CASE priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2 ELSE 3 END), id)
    WHERE status = 'NEW' AND assignee_id IS NULL AND visibility = 'public';

-- Given at creation, never changed.
CREATE TABLE task_blockers (
    task_id    bigint NOT NULL REFERENCES tasks (id),
    blocker_id bigint NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, blocker_id),
    CHECK (task_id <> blocker_id)
);
CREATE INDEX task_blockers_blocker ON task_blockers (blocker_id);

-- Users notified of a task: its creator, its assignee at creation, everyone who acted or commented.
CREATE TABLE task_watchers (
    task_id bigint  NOT NULL REFERENCES tasks (id),
    user_id bigint  NOT NULL REFERENCES users (id),
    watches boolean NOT NULL DEFAULT true,            -- false: only muted or unmuted it
    muted   boolean NOT NULL DEFAULT false,           -- does not want notifications
    PRIMARY KEY (task_id, user_id)
);

-- The results of tasks. json keeps a result as it was sent: the digits of numbers, the order of fields, and \u0000, which
-- jsonb rejects.
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
