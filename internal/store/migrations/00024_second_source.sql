-- +goose Up
-- A large deposit counts when a second source, of another operator than the first, has told the same of it, or an operator answers for it.
-- 0.1.0 does not read this: nothing asks a second source before it is configured.
ALTER TABLE transactions ADD COLUMN deposit_confirmed_at timestamptz; -- NULL: nobody was asked, or has not confirmed it

-- +goose Down
SELECT 1; -- forward only
