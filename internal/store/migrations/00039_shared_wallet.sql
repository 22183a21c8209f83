-- +goose Up
-- A purchase may give the wallet free once the chain has its payment, and several may share one signed message. Processes of an earlier
-- release write none of these columns: the rules below keep them from deciding what they cannot know.

-- Requests to Fragment with this wallet's session so far. Only the last one can be asked for.
ALTER TABLE ton_wallets ADD COLUMN requests bigint NOT NULL DEFAULT 0;

ALTER TABLE payments
    ADD COLUMN part            int         NOT NULL DEFAULT 0,      -- its place in the signed message, from 0
    ADD COLUMN parts           int         NOT NULL DEFAULT 1,      -- payments in that message
    ADD COLUMN part_settled    boolean     NOT NULL DEFAULT false,  -- by a process that knows of parts
    ADD COLUMN shared          boolean     NOT NULL DEFAULT false,  -- a purchase: others may have the wallet before it has ended
    ADD COLUMN request_number  bigint,                              -- a purchase: of its request, among those of the wallet; NULL: unknown
    ADD COLUMN link_until      timestamptz,                         -- a purchase: Fragment takes money until then, by the chain's clock
    ADD COLUMN arrived_at      timestamptz,                         -- when the destination kept the money, by the chain's clock
    ADD COLUMN confirmed_at    timestamptz,                         -- Fragment has taken the confirmation
    ADD COLUMN proof           text        NOT NULL DEFAULT '' CHECK (proof IN ('', 'shop', 'chain')), -- of the Stars; '': none, or by an earlier release
    ADD CONSTRAINT payments_parts CHECK (part BETWEEN 0 AND parts - 1),
    -- An earlier release would take a message of several parts for one payment, and pay the others again.
    ADD CONSTRAINT payments_part_settled CHECK (parts = 1 OR state = 'signed' OR part_settled);

-- One message under way: its first part stands for all.
ALTER TABLE payments DROP CONSTRAINT payments_hash_norm_key;
CREATE UNIQUE INDEX payments_message ON payments (hash_norm, part);
DROP INDEX payments_seqno;
CREATE UNIQUE INDEX payments_seqno ON payments (wallet, seqno, part) WHERE live;
DROP INDEX payments_in_flight;
CREATE UNIQUE INDEX payments_in_flight ON payments (wallet, part) WHERE state = 'signed';

-- Those that share a message have the turn together.
ALTER TABLE payment_queue ADD COLUMN part int NOT NULL DEFAULT 0;
DROP INDEX payment_queue_turn;
CREATE UNIQUE INDEX payment_queue_turn ON payment_queue (wallet, part) WHERE granted_at IS NOT NULL;

-- The messages of the wallet's transactions that sent several; chain_transactions has the first one of each.
CREATE TABLE chain_messages (
    wallet      text   NOT NULL,
    lt          bigint NOT NULL,
    hash        text   NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    destination text   NOT NULL,
    nano        bigint NOT NULL CHECK (nano >= 0),
    body_hash   text   NOT NULL,
    PRIMARY KEY (wallet, lt, hash),
    FOREIGN KEY (wallet, lt) REFERENCES chain_transactions (wallet, lt)
);
CREATE INDEX chain_messages_hash ON chain_messages (hash);

-- What each process can do that earlier releases cannot.
ALTER TABLE processes ADD COLUMN capabilities text[] NOT NULL DEFAULT '{}';

-- A purchase of a process that does not count its request: whoever asks for an earlier one gets no answer about it any more.
-- +goose StatementBegin
CREATE FUNCTION payment_counts_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE ton_wallets SET requests = requests + 1 WHERE address = NEW.wallet;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER payment_counts_request AFTER INSERT ON payments FOR EACH ROW
    WHEN (NEW.kind = 'purchase' AND NEW.request_number IS NULL) EXECUTE FUNCTION payment_counts_request();

-- A process of an earlier release would take "done" of another purchase for this one's. A person who reviews it may decide.
-- +goose StatementBegin
CREATE FUNCTION purchase_is_proven() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM payments p WHERE p.transaction_hash = NEW.hash AND p.kind = 'purchase' AND p.state = 'paid' AND p.shared AND p.proof = '') THEN
        RAISE EXCEPTION 'the purchase of transaction % shared the wallet and has no proof', NEW.hash USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER purchase_is_proven AFTER UPDATE OF status ON transactions FOR EACH ROW
    WHEN (NEW.status = 'processed' AND OLD.status <> 'processed' AND NOT OLD.needs_review) EXECUTE FUNCTION purchase_is_proven();

-- +goose Down
SELECT 1; -- forward only
