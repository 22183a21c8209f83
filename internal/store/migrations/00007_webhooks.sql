-- +goose Up
-- Users' webhook endpoints. Address and secrets are encrypted.
CREATE TABLE webhooks (
    id              bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    user_id         bigint      NOT NULL REFERENCES users (id),
    token_id        bigint REFERENCES tokens (id),      -- the token whose request set the address or resumed it
    address         bytea       NOT NULL,
    secret          bytea       NOT NULL,
    previous_secret bytea,                              -- from before a rotation, also signs until previous_until
    previous_until  timestamptz,
    workloads       text[]      NOT NULL,               -- whose events are sent; empty: all
    state           text        NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'PAUSED')),
    reason          text        NOT NULL DEFAULT '',    -- of a pause
    version         bigint      NOT NULL DEFAULT 1,     -- the number of its last event
    xid             xid8        NOT NULL,               -- with event_id: the position in the event stream after the last one sent or skipped
    event_id        bigint      NOT NULL,
    floor_xid       xid8        NOT NULL DEFAULT '0',   -- with floor_id: the last deleted event of which the receiver knows, or is notified next
    floor_id        bigint      NOT NULL DEFAULT 0,
    events_lost     boolean     NOT NULL DEFAULT false, -- events after the position were deleted: the receiver is notified next
    claim           bigint      NOT NULL DEFAULT 0,     -- fences off earlier senders
    waiting         boolean     NOT NULL DEFAULT false, -- all events are seen: the next one must wake its workflow
    woken_at        timestamptz DEFAULT now(),          -- its workflow must be signalled; NULL: a sender has begun since
    failing_since   timestamptz,
    last_error      text        NOT NULL DEFAULT '',
    delivered_at    timestamptz,
    test_asked_at   timestamptz,
    tested_at       timestamptz,
    test_error      text        NOT NULL DEFAULT '',
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CHECK ((state = 'PAUSED') = (reason <> '')),
    CHECK (NOT (waiting AND state = 'PAUSED'))
);
CREATE INDEX webhooks_user ON webhooks (user_id, id);
CREATE INDEX webhooks_token ON webhooks (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX webhooks_waiting ON webhooks (user_id) WHERE waiting;
CREATE INDEX webhooks_woken ON webhooks (woken_at) WHERE woken_at IS NOT NULL;

-- Events of webhooks.
CREATE TABLE webhook_events PARTITION OF events FOR VALUES IN ('webhook');

-- The position up to which events have woken waiting webhooks: one row.
CREATE TABLE webhook_cursor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    xid xid8   NOT NULL,
    id  bigint NOT NULL
);
INSERT INTO webhook_cursor (xid, id) VALUES (pg_snapshot_xmin(pg_current_snapshot()), 0);

-- +goose Down
SELECT 1; -- forward only
