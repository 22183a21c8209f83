-- +goose Up
-- Several wallets, each with a process of its own. Its name is in the names of its task queues; the only wallet has none.
-- One that replaces another has its name.
ALTER TABLE ton_wallets ADD COLUMN name text NOT NULL DEFAULT '' CHECK (name ~ '^([a-z0-9][a-z0-9-]{0,19})?$');

-- What stops the payments of one wallet. A pause of all of them is in switches.
CREATE TABLE wallet_switches (
    wallet   text   NOT NULL REFERENCES ton_wallets (address),
    name     text   NOT NULL CHECK (name IN ('pause', 'hold')),
    since    timestamptz,                                         -- NULL: off
    reason   text   NOT NULL DEFAULT '',
    by_user  bigint REFERENCES users (id),                        -- NULL: the program
    retry_at timestamptz,                                         -- of a hold: when one purchase may try
    PRIMARY KEY (wallet, name),
    CHECK (since IS NOT NULL OR (reason = '' AND by_user IS NULL AND retry_at IS NULL))
);

INSERT INTO wallet_switches (wallet, name) SELECT address, 'pause' FROM ton_wallets;
INSERT INTO wallet_switches SELECT address, 'hold', since, reason, by_user, retry_at
    FROM ton_wallets CROSS JOIN switches WHERE switches.name = 'hold';
UPDATE switches SET since = NULL, reason = '', by_user = NULL, retry_at = NULL WHERE name = 'hold';

-- A process of an earlier release begins wallets without them.
-- +goose StatementBegin
CREATE FUNCTION wallet_has_switches() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO wallet_switches (wallet, name) VALUES (NEW.address, 'pause'), (NEW.address, 'hold');
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER wallet_has_switches AFTER INSERT ON ton_wallets FOR EACH ROW EXECUTE FUNCTION wallet_has_switches();

-- +goose Down
SELECT 1; -- forward only
