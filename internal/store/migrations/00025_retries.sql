-- +goose NO TRANSACTION
-- +goose Up
-- Whether the system tries a failed order again, and when. What is said is about attempt retry_of: a process of 0.1.0 writes none of it, so
-- that a later failure that it writes is nothing that the system retries.
SET statement_timeout = 0;
ALTER TABLE transactions
    ADD COLUMN IF NOT EXISTS retry_of      int NOT NULL DEFAULT 0, -- the attempt; 0: none
    ADD COLUMN IF NOT EXISTS failing_since timestamptz,            -- since then the system keeps trying; an operator's retry begins anew
    ADD COLUMN IF NOT EXISTS retries       int NOT NULL DEFAULT 0, -- by the system, since then
    ADD COLUMN IF NOT EXISTS retry_at      timestamptz,            -- when the system tries again; NULL: it does not
    ADD COLUMN IF NOT EXISTS given_up_at   timestamptz;            -- when an operator was asked instead

-- Made beside the writers. What a run that was stopped has left is no use.
DROP INDEX CONCURRENTLY IF EXISTS transactions_retry;
DROP INDEX CONCURRENTLY IF EXISTS transactions_given_up;
CREATE INDEX CONCURRENTLY transactions_retry ON transactions (id) WHERE status = 'failed' AND retry_of = attempt AND retry_at IS NOT NULL;
CREATE INDEX CONCURRENTLY transactions_given_up ON transactions (id) WHERE status = 'failed' AND retry_of = attempt AND given_up_at IS NOT NULL;

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
