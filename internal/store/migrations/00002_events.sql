-- +goose Up
-- One row per transition, for all workloads; each workload's events are a partition with the workload's name.
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
    owner_id   bigint REFERENCES users (id),       -- the user who may see it, besides administrators
    comment    text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workload, id),
    UNIQUE (workload, entity_id, seq)
) PARTITION BY LIST (workload);
CREATE INDEX events_stream ON events (xid, id);

-- Policies named payments apply to each role that does not own the table, such as the payments process's: it reads and
-- writes only rows of transactions, and none in a person's name.
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE POLICY payments ON events USING (workload = 'transaction') WITH CHECK (workload = 'transaction' AND actor_id IS NULL);

-- The last deleted event of the stream: a reader that has seen less may have missed it. A trigger maintains it, so that
-- operators who delete by hand move it, too.
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

-- The decision about each request for a change of an entity, for as long as the entity exists: no repetition, on any path,
-- is decided anew. Ids and contents may quote people, so only their hashes are kept.
CREATE TABLE requests (
    workload   text   NOT NULL,
    entity_id  text   NOT NULL,
    request    bytea  NOT NULL,            -- of the id of the update in Temporal
    asked      bytea  NOT NULL,            -- of the content: the same id with another content is an error
    seq        bigint,                     -- the entity's newest event right after it; NULL: refused
    refusal    text   NOT NULL DEFAULT '', -- the code
    PRIMARY KEY (workload, entity_id, request),
    CHECK ((seq IS NULL) = (refusal <> ''))
);

-- The first answer to each Idempotency-Key: a repetition returns it, for as long as retention keeps it.
CREATE TABLE answers (
    user_id    bigint      NOT NULL REFERENCES users (id),
    key        text        NOT NULL,
    request    text        NOT NULL,                         -- the content: the same key with another content is an error
    answer     jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
);
CREATE INDEX answers_made ON answers (created_at);

-- +goose Down
SELECT 1; -- forward only
