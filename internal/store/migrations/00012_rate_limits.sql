-- +goose Up
-- One row per key that is limited over all processes (store.Reserve). A crash of PostgreSQL empties the table: every key then starts
-- with its whole allowance. Rows change in place, because no index covers tat.
CREATE UNLOGGED TABLE rate_limits (
    key text PRIMARY KEY,
    tat timestamptz NOT NULL -- theoretical arrival time: when the allowance is whole again
) WITH (fillfactor = 50);

-- +goose Down
SELECT 1; -- forward only
