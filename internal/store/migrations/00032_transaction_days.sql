-- +goose Up
-- The days of the statistics get their volume and their processing time from the kept counts, as their numbers. The lock lasts until the
-- rows are counted, as in 00020: no writer adds to the counts by the old function meanwhile. Processes of 0.1.0 leave these kinds alone,
-- and their writes are counted by the triggers.
SET LOCAL statement_timeout = 0;
LOCK TABLE transactions IN SHARE MODE;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION counts_of(t transactions) RETURNS TABLE (kind text, key text, n bigint) LANGUAGE sql STABLE AS $$
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
-- +goose StatementEnd

INSERT INTO counts SELECT c.kind, c.key, sum(c.n) FROM transactions t, counts_of(t) c
    WHERE c.kind IN ('transaction_day_nano', 'transaction_day_stars', 'transaction_day_milliseconds') GROUP BY c.kind, c.key;

-- +goose Down
SELECT 1; -- forward only
