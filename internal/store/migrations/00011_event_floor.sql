-- +goose Up
-- The last event of the stream that was deleted: who has seen less may have missed it. A trigger keeps it, so that processes of the
-- release before, which still run while this is migrated, and operators who delete by hand move it, too.
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

-- +goose Down
SELECT 1; -- forward only
