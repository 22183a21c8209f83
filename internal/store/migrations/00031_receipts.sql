-- +goose NO TRANSACTION
-- +goose Up
-- A receipt is opened by a key that cannot be guessed: 122 random bits. The default is set after the column is there, so that no row is
-- rewritten and the table is locked for a moment only. A process of 0.1.0 that inserts a row gives it a key by the default; it leaves quoted_at
-- as it is. Each step can be run again.
SET statement_timeout = 0;
ALTER TABLE transactions
    ADD COLUMN IF NOT EXISTS receipt_key text,
    ADD COLUMN IF NOT EXISTS quoted_at   timestamptz; -- when the Stars were priced; NULL: not yet, or before this release
ALTER TABLE transactions ALTER COLUMN receipt_key SET DEFAULT replace(gen_random_uuid()::text, '-', '');

-- The rows from before get theirs a thousand at a time: a writer waits for no more than that.
-- +goose StatementBegin
DO $$
DECLARE
    reached bigint := 0;
BEGIN
    LOOP
        WITH page AS (SELECT id FROM transactions WHERE id > reached ORDER BY id LIMIT 1000),
            keyed AS (UPDATE transactions t SET receipt_key = DEFAULT FROM page WHERE t.id = page.id AND t.receipt_key IS NULL)
        SELECT max(id) INTO reached FROM page;
        EXIT WHEN reached IS NULL;
        COMMIT;
    END LOOP;
END $$;
-- +goose StatementEnd

ALTER TABLE transactions DROP CONSTRAINT IF EXISTS transactions_receipt_key;
ALTER TABLE transactions ADD CONSTRAINT transactions_receipt_key
    CHECK (receipt_key IS NOT NULL AND receipt_key ~ '^[0-9a-f]{32}$') NOT VALID;
ALTER TABLE transactions VALIDATE CONSTRAINT transactions_receipt_key; -- writers go on meanwhile

-- Made beside the writers. What a run that was stopped has left is no use.
DROP INDEX CONCURRENTLY IF EXISTS transactions_receipt;
DROP INDEX CONCURRENTLY IF EXISTS transactions_user;
CREATE UNIQUE INDEX CONCURRENTLY transactions_receipt ON transactions (receipt_key);
CREATE INDEX CONCURRENTLY transactions_user ON transactions (user_id, id) WHERE user_id IS NOT NULL;

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
