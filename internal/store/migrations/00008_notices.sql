-- +goose Up
-- One live message in a chat about one entity, kept up to date by edits.
CREATE TABLE boards (
    workload   text        NOT NULL,
    entity_id  bigint      NOT NULL,
    chat_id    bigint      NOT NULL,
    message_id bigint,
    state      text        NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'sending', 'shown', 'final', 'lost')),
    shown_hash text        NOT NULL DEFAULT '',
    due_at     timestamptz NOT NULL DEFAULT now(), -- when to check again: throttling
    held_until timestamptz NOT NULL DEFAULT '-infinity', -- not touched before this: a process has it, or FLOOD_WAIT
    PRIMARY KEY (workload, entity_id, chat_id)
);
CREATE INDEX boards_due ON boards (due_at) WHERE state IN ('new', 'sending', 'shown');

-- One row per person to be notified of an entity's event, whatever the outcome. The rows of a person and an entity that
-- are due together make one message.
CREATE TABLE news (
    user_id   bigint      NOT NULL REFERENCES users (id),
    workload  text        NOT NULL,
    entity_id text        NOT NULL,
    seq       bigint      NOT NULL,                  -- the entity's event; of a task: 0, its last blocker is DONE; -1, one was cancelled
    state     text        NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'sending', 'sent', 'unknown', 'lost')),
    due_at    timestamptz NOT NULL,
    PRIMARY KEY (user_id, workload, entity_id, seq)
);
CREATE INDEX news_due ON news (due_at) WHERE state = 'due';
CREATE INDEX news_next ON news (user_id, due_at) WHERE state = 'due'; -- next to be notified, person by person
CREATE INDEX news_told ON news (due_at) WHERE state IN ('sent', 'unknown', 'lost'); -- old ones
ALTER TABLE news ENABLE ROW LEVEL SECURITY;
CREATE POLICY payments ON news USING (workload IN ('transaction', 'small_transfer'));

-- The position up to which notifications are planned: one row. Nothing that happens after the migration is left out.
CREATE TABLE notice_cursor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    xid xid8   NOT NULL,
    id  bigint NOT NULL
);
INSERT INTO notice_cursor (xid, id) VALUES (pg_snapshot_xmin(pg_current_snapshot()), 0);

-- Incidents of whose beginning and end administrators are notified.
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

-- An incident that recurs soon is the same one: this index finds the last of its kind.
CREATE INDEX alerts_last ON alerts (kind, resolved_at);
ALTER TABLE alerts ENABLE ROW LEVEL SECURITY;
CREATE POLICY payments ON alerts USING (kind IN (
    'fragment_session_expired', 'fragment_unreachable', 'payment_check_failed', 'daily_limit_reached', 'wallet_balance_low',
    'transaction_stuck', 'transaction_needs_review', 'transaction_given_up', 'refund_not_possible', 'chain_not_followed',
    'chain_clock_wrong', 'chain_message_unreadable'));

-- The last update received by the bot: at most one row.
CREATE TABLE bot_updates (
    update_id   bigint PRIMARY KEY,
    received_at timestamptz NOT NULL DEFAULT now()
);

-- Received but unhandled updates. Telegram has dropped them; they are deleted once handled.
CREATE TABLE bot_inbox (
    update_id bigint PRIMARY KEY,
    chat_id   bigint NOT NULL,
    content   jsonb  NOT NULL -- who wrote or pressed what
);
CREATE INDEX bot_inbox_chat ON bot_inbox (chat_id);

-- The menu of each chat.
CREATE TABLE conversations (
    chat_id    bigint PRIMARY KEY,
    message_id bigint      NOT NULL DEFAULT 0,
    folder_id  bigint      NOT NULL DEFAULT 0,
    query      text        NOT NULL DEFAULT '',
    asking     boolean     NOT NULL DEFAULT false, -- the next words are a search
    ask        text        NOT NULL DEFAULT '',    -- the purpose of the next words, if the menu has asked for some
    update_id  bigint      NOT NULL DEFAULT 0,     -- the last update handled in this chat
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
SELECT 1; -- forward only
