-- +goose NO TRANSACTION
-- +goose Up
-- Each table is counted under a lock of its own, so that other releases wait for one table at a time.
SET statement_timeout = 0;

-- How many rows there are of each kind. A transition only inserts a row of count_changes, so that transitions never wait for
-- each other; a worker adds those up into counts. The number of a key is the sum of both.
CREATE TABLE IF NOT EXISTS counts (
    kind text   NOT NULL,
    key  text   NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE TABLE IF NOT EXISTS count_changes (
    kind text   NOT NULL,
    key  text   NOT NULL,
    n    bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- When the counts of a kind were compared with the rows last.
CREATE TABLE IF NOT EXISTS count_checks (
    kind       text PRIMARY KEY,
    checked_at timestamptz NOT NULL
);

-- What one transaction adds to the counts. Both the trigger and the comparison use it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION counts_of(t transactions) RETURNS TABLE (kind text, key text, n bigint) LANGUAGE sql STABLE AS $$
    SELECT * FROM (VALUES
        ('transaction', t.status, 1::bigint),
        ('transaction_day', to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), 1),
        ('transaction_day_processed', CASE WHEN t.status = 'processed' THEN to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END, 1),
        ('transaction_error', CASE WHEN t.status = 'failed' THEN t.error_message END, 1),
        ('transaction_milliseconds', CASE WHEN t.status = 'processed' THEN t.status END, (extract(epoch FROM t.updated_at - t.created_at) * 1000)::bigint)
    ) AS c (kind, key, n) WHERE key IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION count_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO count_changes SELECT kind, key, -n FROM counts_of(OLD);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO count_changes SELECT kind, key, n FROM counts_of(NEW);
    END IF;
    RETURN NULL;
END $$;

-- The argument of these is the kind. Rows that come or go together make one change for each state.
CREATE OR REPLACE FUNCTION count_state_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], state, count(*) FROM new_rows GROUP BY state;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_state_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], state, -count(*) FROM old_rows GROUP BY state;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_state_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes VALUES (TG_ARGV[0], OLD.state, -1), (TG_ARGV[0], NEW.state, 1);
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_status_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], status, count(*) FROM new_rows GROUP BY status;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_status_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], status, -count(*) FROM old_rows GROUP BY status;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_status_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes VALUES (TG_ARGV[0], OLD.status, -1), (TG_ARGV[0], NEW.status, 1);
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_kind_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], kind, count(*) FROM new_rows GROUP BY kind;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_kind_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], kind, -count(*) FROM old_rows GROUP BY kind;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Each block can be run again: the lock that a new trigger takes lasts until the rows are counted.
-- +goose StatementBegin
DO $$ BEGIN
    DROP TRIGGER IF EXISTS count_new ON jobs;
    DROP TRIGGER IF EXISTS count_gone ON jobs;
    DROP TRIGGER IF EXISTS count_change ON jobs;
    CREATE TRIGGER count_new AFTER INSERT ON jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_state_new('delivery');
    CREATE TRIGGER count_gone AFTER DELETE ON jobs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_state_gone('delivery');
    CREATE TRIGGER count_change AFTER UPDATE ON jobs FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION count_state_change('delivery');
    DELETE FROM counts WHERE kind = 'delivery';
    DELETE FROM count_changes WHERE kind = 'delivery';
    INSERT INTO counts SELECT 'delivery', state, count(*) FROM jobs GROUP BY state;
END $$;

DO $$ BEGIN
    DROP TRIGGER IF EXISTS count_new ON tasks;
    DROP TRIGGER IF EXISTS count_gone ON tasks;
    DROP TRIGGER IF EXISTS count_change ON tasks;
    CREATE TRIGGER count_new AFTER INSERT ON tasks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_status_new('task');
    CREATE TRIGGER count_gone AFTER DELETE ON tasks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_status_gone('task');
    CREATE TRIGGER count_change AFTER UPDATE ON tasks FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION count_status_change('task');
    DELETE FROM counts WHERE kind = 'task';
    DELETE FROM count_changes WHERE kind = 'task';
    INSERT INTO counts SELECT 'task', status, count(*) FROM tasks GROUP BY status;
END $$;

DO $$ BEGIN
    DROP TRIGGER IF EXISTS count_new ON download_jobs;
    DROP TRIGGER IF EXISTS count_gone ON download_jobs;
    DROP TRIGGER IF EXISTS count_change ON download_jobs;
    CREATE TRIGGER count_new AFTER INSERT ON download_jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_status_new('download');
    CREATE TRIGGER count_gone AFTER DELETE ON download_jobs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_status_gone('download');
    CREATE TRIGGER count_change AFTER UPDATE ON download_jobs FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION count_status_change('download');
    DELETE FROM counts WHERE kind = 'download';
    DELETE FROM count_changes WHERE kind = 'download';
    INSERT INTO counts SELECT 'download', status, count(*) FROM download_jobs GROUP BY status;
END $$;

DO $$ BEGIN
    DROP TRIGGER IF EXISTS count_change ON transactions;
    DROP TRIGGER IF EXISTS count_rows ON transactions;
    CREATE TRIGGER count_rows AFTER INSERT OR DELETE ON transactions FOR EACH ROW EXECUTE FUNCTION count_transaction();
    CREATE TRIGGER count_change AFTER UPDATE ON transactions FOR EACH ROW WHEN (
        (OLD.status, OLD.error_message, OLD.created_at) IS DISTINCT FROM (NEW.status, NEW.error_message, NEW.created_at)
        OR NEW.status = 'processed' AND OLD.updated_at IS DISTINCT FROM NEW.updated_at) EXECUTE FUNCTION count_transaction();
    DELETE FROM counts WHERE kind LIKE 'transaction%';
    DELETE FROM count_changes WHERE kind LIKE 'transaction%';
    INSERT INTO counts SELECT c.kind, c.key, sum(c.n) FROM transactions t, counts_of(t) c GROUP BY c.kind, c.key;
END $$;

DO $$ BEGIN
    DROP TRIGGER IF EXISTS count_new ON payment_queue;
    DROP TRIGGER IF EXISTS count_gone ON payment_queue;
    CREATE TRIGGER count_new AFTER INSERT ON payment_queue REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_kind_new('payment_queue');
    CREATE TRIGGER count_gone AFTER DELETE ON payment_queue REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_kind_gone('payment_queue');
    DELETE FROM counts WHERE kind = 'payment_queue';
    DELETE FROM count_changes WHERE kind = 'payment_queue';
    INSERT INTO counts SELECT 'payment_queue', kind, count(*) FROM payment_queue GROUP BY kind;
END $$;
-- +goose StatementEnd

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
