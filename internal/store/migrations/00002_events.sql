-- +goose Up
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
    reason     text        NOT NULL DEFAULT '',    -- why the system did it, where the type leaves it open
    comment    text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workload, id),
    UNIQUE (workload, entity_id, seq)
) PARTITION BY LIST (workload);
CREATE INDEX events_stream ON events (xid, id);

-- The last event of the stream that was deleted: who has seen less may have missed it. A trigger keeps it, so that operators who
-- delete by hand move it, too.
CREATE TABLE event_floor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    xid xid8    NOT NULL DEFAULT '0',
    id  bigint  NOT NULL DEFAULT 0
);
INSERT INTO event_floor DEFAULT VALUES;

-- +goose StatementBegin
CREATE FUNCTION raise_event_floor() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE event_floor f SET xid = d.xid, id = d.id
        FROM (SELECT xid, id FROM deleted ORDER BY xid DESC, id DESC LIMIT 1) d
        WHERE (d.xid, d.id) > (f.xid, f.id);
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER events_deleted AFTER DELETE ON events
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION raise_event_floor();

-- The first answer to each Idempotency-Key: a repeat gives it again, for as long as retention keeps it.
CREATE TABLE answers (
    user_id    bigint      NOT NULL REFERENCES users (id),
    key        text        NOT NULL,
    request    text        NOT NULL,                         -- what was asked: the same key for something else is a mistake
    answer     jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
);
CREATE INDEX answers_made ON answers (created_at);

-- +goose Down
SELECT 1; -- forward only
