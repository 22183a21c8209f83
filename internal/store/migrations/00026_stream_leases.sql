-- +goose Up
-- How many event streams of a user a process has open, so that the limit holds over all processes. A process says so again and again;
-- what it has not said for a while has lapsed. A crash of PostgreSQL empties the table, and the processes fill it within seconds.
CREATE UNLOGGED TABLE stream_leases (
    process    text        NOT NULL, -- made anew at each start
    user_id    bigint      NOT NULL,
    streams    integer     NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (process, user_id)
);
CREATE INDEX stream_leases_user ON stream_leases (user_id);

-- +goose Down
SELECT 1; -- forward only
