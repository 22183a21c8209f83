-- +goose Up
CREATE TABLE users (
    id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    telegram_id bigint UNIQUE,
    name        text        NOT NULL DEFAULT '',
    language    text        NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'ru')),
    role        text        NOT NULL DEFAULT 'USER' CHECK (role IN ('USER', 'ADMIN')),
    status      text        NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'ACTIVE', 'BLOCKED')),
    token_hash  bytea UNIQUE,                      -- sha256 of the API token; the token itself is never stored
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);

-- Every refused privileged attempt and every action of an administrator.
CREATE TABLE audit_log (
    id         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    actor_id   bigint REFERENCES users (id),
    action     text        NOT NULL,
    subject    text        NOT NULL DEFAULT '',
    outcome    text        NOT NULL CHECK (outcome IN ('done', 'refused')),
    door       text        NOT NULL CHECK (door IN ('bot', 'http', 'cli', 'system')),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- One row a transition, whatever the workload; each workload's events are a partition with the workload's own name.
-- xid orders rows by commit visibility: a reader that stops at pg_snapshot_xmin() can resume without a gap.
CREATE SEQUENCE event_ids;
CREATE TABLE events (
    workload   text        NOT NULL,
    id         bigint      NOT NULL DEFAULT nextval('event_ids'),
    xid        xid8        NOT NULL DEFAULT pg_current_xact_id(),
    entity_id  text        NOT NULL,
    seq        bigint      NOT NULL,
    type       text        NOT NULL,
    from_state text        NOT NULL DEFAULT '',
    to_state   text        NOT NULL,
    actor_id   bigint REFERENCES users (id),       -- NULL: the system
    owner_id   bigint REFERENCES users (id),       -- who may see it, besides administrators
    comment    text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workload, id),
    UNIQUE (workload, entity_id, seq)
) PARTITION BY LIST (workload);
CREATE INDEX events_stream ON events (xid, id);

-- One live message in a chat about one entity, kept up to date by edits.
CREATE TABLE boards (
    workload   text        NOT NULL,
    entity_id  bigint      NOT NULL,
    chat_id    bigint      NOT NULL,
    message_id bigint,
    state      text        NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'sending', 'shown', 'final', 'lost')),
    shown_hash text        NOT NULL DEFAULT '',
    due_at     timestamptz NOT NULL DEFAULT now(), -- when to look again: throttling
    held_until timestamptz NOT NULL DEFAULT '-infinity', -- not touched before: a process has it, or FLOOD_WAIT
    PRIMARY KEY (workload, entity_id, chat_id)
);
CREATE INDEX boards_due ON boards (due_at) WHERE state IN ('new', 'sending', 'shown');

-- The bot's own memory: the next update to ask for, updates handled, the menu of each chat, alerts sent to administrators.
CREATE TABLE bot_updates (
    update_id  bigint PRIMARY KEY,
    handled_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE conversations (
    chat_id    bigint PRIMARY KEY,
    message_id bigint      NOT NULL DEFAULT 0,
    folder_id  bigint      NOT NULL DEFAULT 0,
    query      text        NOT NULL DEFAULT '',
    asking     boolean     NOT NULL DEFAULT false, -- the next words are searched for
    update_id  bigint      NOT NULL DEFAULT 0,     -- the last update handled in this chat
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE alerts (
    id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    kind        text        NOT NULL,
    opened_at   timestamptz NOT NULL DEFAULT now(),
    sent_at     timestamptz,
    resolved_at timestamptz
);
CREATE UNIQUE INDEX alerts_open ON alerts (kind) WHERE resolved_at IS NULL;

-- +goose Down
SELECT 1; -- forward only
