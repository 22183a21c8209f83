-- +goose Up
-- An order that does not fit into what is left of the limit for 24 hours lets smaller ones pass. 0.1.0 heeds neither column: it holds all
-- purchases instead.
ALTER TABLE payment_queue
    ADD COLUMN deferred_at timestamptz, -- when it did not fit for the first time; NULL: it was never tried, or fits
    ADD COLUMN not_before  timestamptz; -- when there is room for it, unless others take that

ALTER TABLE transactions
    ADD COLUMN refund_approved boolean NOT NULL DEFAULT false,                     -- an operator has allowed a refund above the limits
    ADD COLUMN dust_nano       bigint  NOT NULL DEFAULT 0 CHECK (dust_nano >= 0);  -- owed, and kept: to send it costs more than it is worth

-- +goose Down
SELECT 1; -- forward only
