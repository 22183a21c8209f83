-- +goose Up
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

-- One row for each person who is to hear of an event of some entity, whatever came of it. The rows of a person and an
-- entity that are due together make one message.
CREATE TABLE news (
    user_id   bigint      NOT NULL REFERENCES users (id),
    workload  text        NOT NULL,
    entity_id text        NOT NULL,
    seq       bigint      NOT NULL,                  -- the entity's event; 0, of a task: its last blocker is DONE
    state     text        NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'sending', 'sent', 'unknown', 'lost')),
    due_at    timestamptz NOT NULL,
    PRIMARY KEY (user_id, workload, entity_id, seq)
);
CREATE INDEX news_due ON news (due_at) WHERE state = 'due';
CREATE INDEX news_next ON news (user_id, due_at) WHERE state = 'due'; -- who is to be notified next, person by person
CREATE INDEX news_told ON news (due_at) WHERE state IN ('sent', 'unknown', 'lost'); -- what is old

-- How far the events are told: one row. Nothing that happens after the migration is left out.
CREATE TABLE notice_cursor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    xid xid8   NOT NULL,
    id  bigint NOT NULL
);
INSERT INTO notice_cursor (xid, id) VALUES (pg_snapshot_xmin(pg_current_snapshot()), 0);

-- Incidents that administrators are told of, and of their end.
CREATE TABLE alerts (
    id           bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    kind         text        NOT NULL,
    opened_at    timestamptz NOT NULL DEFAULT now(),
    sent_at      timestamptz,
    resolved_at  timestamptz,
    over_sent_at timestamptz
);
CREATE UNIQUE INDEX alerts_open ON alerts (kind) WHERE resolved_at IS NULL;
CREATE INDEX alerts_unsent ON alerts (id) WHERE sent_at IS NULL OR over_sent_at IS NULL;

-- An incident that comes back soon is the same one: who looks for the last of its kind finds it.
CREATE INDEX alerts_last ON alerts (kind, resolved_at);

-- The bot's own memory: updates handled, and the menu of each chat.
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
    ask        text        NOT NULL DEFAULT '',    -- what the next words are for, when the menu has asked for some
    update_id  bigint      NOT NULL DEFAULT 0,     -- the last update handled in this chat
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
SELECT 1; -- forward only
