-- +goose Up
-- A claim has a fencing token, and may have a lease that its holder renews. A process of an earlier release neither gives nor ends one: a
-- lease that it leaves on a task that nobody works on has no effect. Constants as defaults rewrite no row.
ALTER TABLE tasks
    ADD COLUMN fencing_token    bigint NOT NULL DEFAULT 0, -- grows with each claim and with the end of each
    ADD COLUMN lease_seconds    bigint,                    -- how long the holder may be silent; NULL: for ever
    ADD COLUMN lease_expires_at timestamptz;               -- when the claim ends unless it is renewed
ALTER TABLE events ADD COLUMN reason text NOT NULL DEFAULT ''; -- why the system did it, where the type leaves it open

-- +goose Down
SELECT 1; -- forward only
