-- +goose Up
-- What the reconciler found to differ between the record and Temporal: one row an incident, however often it was looked at.
CREATE TABLE reconciler_findings (
    id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    found_at    timestamptz NOT NULL DEFAULT now(),
    seen_at     timestamptz NOT NULL DEFAULT now(),    -- by the last sweep that met it
    workload    text        NOT NULL CHECK (workload IN ('delivery', 'task', 'download', 'transaction')),
    entity      text        NOT NULL,                  -- its id, or without a row the end of the workflow's id
    workflow_id text        NOT NULL,
    run_id      text        NOT NULL DEFAULT '',       -- of the workflow, where there is one
    finding     text        NOT NULL CHECK (finding <> ''),
    done        text        NOT NULL DEFAULT '',       -- what was done about it; empty: nothing yet
    done_at     timestamptz,
    CHECK ((done = '') = (done_at IS NULL))
);
CREATE INDEX reconciler_findings_of ON reconciler_findings (workload, entity);
CREATE INDEX reconciler_findings_time ON reconciler_findings (found_at);
CREATE INDEX reconciler_findings_open ON reconciler_findings (seen_at) WHERE done = '';

-- When sweeps began: the next ones look at what came later. A few rows.
CREATE TABLE reconciler_marks (
    at  timestamptz PRIMARY KEY,
    xid xid8 NOT NULL -- every event below it was visible
);

-- Live rows that a sweep could not settle: the next one tries again.
CREATE TABLE reconciler_unsettled (
    workload text        NOT NULL,
    entity   text        NOT NULL,
    tried_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workload, entity)
);

-- The last comparison of all live rows with all running workflows.
CREATE TABLE reconciler_comparisons (
    workload text PRIMARY KEY,
    began_at timestamptz NOT NULL,
    live     bigint      NOT NULL, -- rows
    running  bigint      NOT NULL  -- workflows
);

-- How calls of the systems outside went last, as their callers saw it.
CREATE TABLE outside_systems (
    name          text PRIMARY KEY,
    succeeded_at  timestamptz,
    failed_at     timestamptz,
    error         text NOT NULL DEFAULT '',            -- a fault code: of the last failure
    failing_since timestamptz                          -- no success since; NULL: the last call succeeded
);

-- What the processes of ours say of themselves, every few seconds. One that ended is forgotten after a while.
CREATE TABLE processes (
    identity     text PRIMARY KEY,                     -- as Temporal knows it
    service      text        NOT NULL,                 -- worker, api
    version      text        NOT NULL,
    capabilities text[]      NOT NULL DEFAULT '{}',    -- what it can do that others may have to wait for
    carries      int         NOT NULL DEFAULT 0,       -- activities that run in it now
    started_at   timestamptz NOT NULL,
    beat_at      timestamptz NOT NULL DEFAULT now()
);

-- What each process has found with its own credentials: one row a process and system, written at its start and once per request.
CREATE TABLE process_checks (
    identity text        NOT NULL,                -- of the process, as in processes
    system   text        NOT NULL,
    state    text        NOT NULL CHECK (state IN ('works', 'refused', 'unreachable', 'unverified', 'off')),
    account  text        NOT NULL DEFAULT '',     -- who the process is there; no secret, and no person's name
    detail   text        NOT NULL DEFAULT '',
    code     text        NOT NULL DEFAULT '',     -- a fault code
    next     text        NOT NULL DEFAULT '',     -- what an administrator can do
    request  bigint      NOT NULL,                -- the last one that this answers; 0: made at the start
    found_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (identity, system)
);

-- The last request of an administrator for new checks. There is one row at most.
CREATE TABLE check_requests (
    single   boolean     PRIMARY KEY DEFAULT true CHECK (single),
    number   bigint      NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now()
);

-- How many rows there are of each kind. A transition only inserts a row of count_changes, so that transitions never wait for
-- each other; a worker adds those up into counts. The number of a key is the sum of both.
CREATE TABLE counts (
    kind text   NOT NULL,
    key  text   NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE TABLE count_changes (
    kind text   NOT NULL,
    key  text   NOT NULL,
    n    bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- When the counts of a kind were compared with the rows last.
CREATE TABLE count_checks (
    kind       text PRIMARY KEY,
    checked_at timestamptz NOT NULL
);

-- What one transaction adds to the counts. Both the trigger and the comparison use it.
-- +goose StatementBegin
CREATE FUNCTION counts_of(t transactions) RETURNS TABLE (kind text, key text, n bigint) LANGUAGE sql STABLE AS $$
    SELECT * FROM (VALUES
        ('transaction', t.status, 1::bigint),
        ('transaction_day', to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), 1),
        ('transaction_day_nano', to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), t.amount_nano),
        ('transaction_day_processed', CASE WHEN t.status = 'processed' THEN to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END, 1),
        ('transaction_day_stars', CASE WHEN t.status = 'processed' THEN to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END, t.stars),
        ('transaction_day_milliseconds', CASE WHEN t.status = 'processed' THEN to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END,
            (extract(epoch FROM t.updated_at - t.created_at) * 1000)::bigint),
        ('transaction_error', CASE WHEN t.status = 'failed' THEN t.error_message END, 1),
        ('transaction_milliseconds', CASE WHEN t.status = 'processed' THEN t.status END, (extract(epoch FROM t.updated_at - t.created_at) * 1000)::bigint)
    ) AS c (kind, key, n) WHERE key IS NOT NULL
$$;

CREATE FUNCTION count_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE FUNCTION count_state_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], state, count(*) FROM new_rows GROUP BY state;
    RETURN NULL;
END $$;
CREATE FUNCTION count_state_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], state, -count(*) FROM old_rows GROUP BY state;
    RETURN NULL;
END $$;
CREATE FUNCTION count_state_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes VALUES (TG_ARGV[0], OLD.state, -1), (TG_ARGV[0], NEW.state, 1);
    RETURN NULL;
END $$;
CREATE FUNCTION count_status_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], status, count(*) FROM new_rows GROUP BY status;
    RETURN NULL;
END $$;
CREATE FUNCTION count_status_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], status, -count(*) FROM old_rows GROUP BY status;
    RETURN NULL;
END $$;
CREATE FUNCTION count_status_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes VALUES (TG_ARGV[0], OLD.status, -1), (TG_ARGV[0], NEW.status, 1);
    RETURN NULL;
END $$;
CREATE FUNCTION count_kind_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], kind, count(*) FROM new_rows GROUP BY kind;
    RETURN NULL;
END $$;
CREATE FUNCTION count_kind_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO count_changes SELECT TG_ARGV[0], kind, -count(*) FROM old_rows GROUP BY kind;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER count_new AFTER INSERT ON jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_state_new('delivery');
CREATE TRIGGER count_gone AFTER DELETE ON jobs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_state_gone('delivery');
CREATE TRIGGER count_change AFTER UPDATE ON jobs FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION count_state_change('delivery');
CREATE TRIGGER count_new AFTER INSERT ON tasks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_status_new('task');
CREATE TRIGGER count_gone AFTER DELETE ON tasks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_status_gone('task');
CREATE TRIGGER count_change AFTER UPDATE ON tasks FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION count_status_change('task');
CREATE TRIGGER count_new AFTER INSERT ON download_jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_status_new('download');
CREATE TRIGGER count_gone AFTER DELETE ON download_jobs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_status_gone('download');
CREATE TRIGGER count_change AFTER UPDATE ON download_jobs FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION count_status_change('download');
CREATE TRIGGER count_rows AFTER INSERT OR DELETE ON transactions FOR EACH ROW EXECUTE FUNCTION count_transaction();
CREATE TRIGGER count_change AFTER UPDATE ON transactions FOR EACH ROW WHEN (
    (OLD.status, OLD.error_message, OLD.created_at) IS DISTINCT FROM (NEW.status, NEW.error_message, NEW.created_at)
    OR NEW.status = 'processed' AND OLD.updated_at IS DISTINCT FROM NEW.updated_at) EXECUTE FUNCTION count_transaction();
CREATE TRIGGER count_new AFTER INSERT ON payment_queue REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_kind_new('payment_queue');
CREATE TRIGGER count_gone AFTER DELETE ON payment_queue REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_kind_gone('payment_queue');

-- +goose Down
SELECT 1; -- forward only
