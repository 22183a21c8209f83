-- +goose Up
-- Purchases that are paid, and of which nobody knows yet whether the destination keeps the money. There are few at any time.
CREATE INDEX payments_open_purchases ON payments (wallet, id) WHERE kind = 'purchase' AND state = 'paid' AND kept_at IS NULL;

-- +goose Down
SELECT 1; -- forward only
