-- +goose Up
-- The last errors are read from an index alone where a vacuum has passed, as of deliveries.
CREATE TABLE transaction_events PARTITION OF events FOR VALUES IN ('transaction')
    WITH (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);
CREATE INDEX transaction_events_errors ON transaction_events (created_at, comment) WHERE type = 'failed' AND comment <> '';
CREATE INDEX transaction_events_actor ON transaction_events (actor_id, id) WHERE actor_id IS NOT NULL; -- what a user has done

-- A wallet of ours and how far its history is known: gap-free up to the cursor. Whatever changes payments, turns or the
-- ledger of a wallet holds this row's lock, and takes it before any other.
CREATE TABLE ton_wallets (
    address     text PRIMARY KEY CHECK (address ~ '^-?[0-9]+:[0-9a-f]{64}$'),
    cursor_lt   bigint      NOT NULL CHECK (cursor_lt >= 0),      -- 0: before the first transaction
    cursor_hash text        NOT NULL CHECK (cursor_hash ~ '^([0-9a-f]{64})?$'),
    scanned_to  timestamptz,                                      -- chain time: nothing up to it is missing, or can come any more
    next_seqno  bigint      NOT NULL DEFAULT 0,                   -- above every seqno that we know to be used
    requests    bigint      NOT NULL DEFAULT 0,                   -- to Fragment with this wallet's session so far; only the last one can be asked for
    least_nano  bigint      NOT NULL DEFAULT 0,                   -- what the fewest Stars cost when an order was priced last; 0: not known

    -- Whose turn it is to pay. Each write between a request to Fragment and the end of its order has the token of its claim.
    turn_of     text,                                             -- the transaction; NULL: the turn is free
    turn_token  bigint      NOT NULL DEFAULT 0,                   -- grows with each claim
    turn_at     timestamptz,                                      -- when it was claimed
    turn_until  timestamptz,                                      -- then another transaction may claim it
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    CHECK ((turn_of IS NULL) = (turn_at IS NULL) AND (turn_of IS NULL) = (turn_until IS NULL))
);

CREATE TABLE transactions (
    id                        bigint NOT NULL UNIQUE GENERATED ALWAYS AS IDENTITY, -- the order of lists
    hash                      text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),    -- of the incoming transaction on the chain
    receipt_key               text        NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', '')
        CHECK (receipt_key ~ '^[0-9a-f]{32}$'),                                    -- opens the receipt: 122 random bits cannot be guessed
    wallet                    text        NOT NULL REFERENCES ton_wallets (address),
    lt                        bigint      NOT NULL,
    amount_nano               bigint      NOT NULL CHECK (amount_nano > 0),
    sender                    text        NOT NULL CHECK (sender <> ''),
    comment                   text        NOT NULL,                                -- as the sender wrote it
    deposit_confirmed_at      timestamptz,                                         -- an operator has reviewed the deposit
    username                  text        NOT NULL DEFAULT '',                     -- whom the Stars are for
    user_id                   bigint REFERENCES users (id),                        -- that one, if known
    stars                     bigint      NOT NULL DEFAULT 0 CHECK (stars >= 0),
    quote_nano                bigint      NOT NULL DEFAULT 0 CHECK (quote_nano >= 0), -- 0: not priced yet
    quoted_at                 timestamptz,                                         -- when the Stars were priced; NULL: not yet
    recipient                 text        NOT NULL DEFAULT '',                     -- Fragment's name for the username
    status                    text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'processed', 'failed')),
    attempt                   int         NOT NULL DEFAULT 0 CHECK (attempt >= 0), -- tries of buying so far
    error_message             text        NOT NULL DEFAULT '',
    error_class               text        NOT NULL DEFAULT '' CHECK (error_class IN ('', 'retryable', 'non-retryable', 'unknown')),
    fragment_transaction_hash text        NOT NULL DEFAULT '' CHECK (fragment_transaction_hash ~ '^([0-9a-f]{64})?$'), -- of our payment on the chain
    refund_due_nano           bigint      NOT NULL DEFAULT 0 CHECK (refund_due_nano >= 0), -- owed to the sender and not on its way
    refund_approved           boolean     NOT NULL DEFAULT false,                  -- an operator has allowed a refund above the limits
    dust_nano                 bigint      NOT NULL DEFAULT 0 CHECK (dust_nano >= 0), -- owed, and kept: to send it costs more than it is worth
    needs_review              boolean     NOT NULL DEFAULT false,
    review_reason             text        NOT NULL DEFAULT '',
    processing_since          timestamptz,                                         -- the last time it was entered
    stuck_alerted_at          timestamptz,                                         -- since then
    deferred_at               timestamptz,                                         -- when its payment did not fit into the limit for 24 hours for the first time; NULL: it was not tried, or fits
    deferred_until            timestamptz,                                         -- when there is room for it, unless others take that; NULL: it does not wait for room

    -- Whether the system tries a failed order again, and when. What is said is about attempt retry_of.
    retry_of                  int         NOT NULL DEFAULT 0,                      -- the attempt; 0: none
    failing_since             timestamptz,                                         -- since then the system keeps trying; an operator's retry begins anew
    retries                   int         NOT NULL DEFAULT 0,                      -- by the system, since then
    retry_at                  timestamptz,                                         -- when the system tries again; NULL: it does not
    given_up_at               timestamptz,                                         -- when an operator was asked instead

    workflow_started_at       timestamptz,
    created_at                timestamptz NOT NULL DEFAULT now(),
    updated_at                timestamptz NOT NULL DEFAULT now(),
    row_version               bigint      NOT NULL DEFAULT 1,                      -- the number of its last event
    UNIQUE (wallet, lt),
    CHECK ((status = 'pending') = (attempt = 0)),
    CHECK ((status = 'pending') = (processing_since IS NULL)),
    CHECK ((status = 'processed') = (fragment_transaction_hash <> '')),
    CHECK ((status = 'failed') = (error_message <> '') AND (status = 'failed') = (error_class <> '')),
    CHECK (refund_due_nano = 0 OR error_class = 'non-retryable'),
    CHECK (needs_review = (review_reason <> ''))
);
CREATE UNIQUE INDEX transactions_receipt ON transactions (receipt_key);
CREATE INDEX transactions_live ON transactions (id) WHERE status IN ('pending', 'processing') OR refund_due_nano > 0;
CREATE INDEX transactions_unstarted ON transactions (id)
    WHERE workflow_started_at IS NULL AND (status IN ('pending', 'processing') OR refund_due_nano > 0);
CREATE INDEX transactions_status ON transactions (status, id);
CREATE INDEX transactions_failed ON transactions (error_message) WHERE status = 'failed';
CREATE INDEX transactions_user ON transactions (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX transactions_created ON transactions (created_at);
CREATE INDEX transactions_review ON transactions (id) WHERE needs_review;
CREATE INDEX transactions_retry ON transactions (id) WHERE status = 'failed' AND retry_of = attempt AND retry_at IS NOT NULL;
CREATE INDEX transactions_error ON transactions (error_message, id) WHERE status = 'failed';
CREATE INDEX transactions_given_up ON transactions (id) WHERE status = 'failed' AND retry_of = attempt AND given_up_at IS NOT NULL;
CREATE INDEX transactions_deferred ON transactions (deferred_at, hash) WHERE deferred_at IS NOT NULL;
CREATE INDEX transactions_retryable ON transactions (id) WHERE status = 'failed' AND error_class <> 'non-retryable';

-- What we signed. A row stands here before its bytes leave the program; what becomes of it is read from the chain alone.
CREATE TABLE payments (
    id               bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    kind             text        NOT NULL CHECK (kind IN ('purchase', 'refund')),
    transaction_hash text        NOT NULL REFERENCES transactions (hash),
    attempt          int         NOT NULL CHECK (attempt > 0),    -- of the transaction, at the signature
    wallet           text        NOT NULL REFERENCES ton_wallets (address),
    seqno            bigint      NOT NULL CHECK (seqno BETWEEN 0 AND 4294967295),
    valid_until      timestamptz NOT NULL,                        -- by the chain's clock
    boc              bytea       NOT NULL,
    hash_norm        text        NOT NULL CHECK (hash_norm ~ '^[0-9a-f]{64}$'),
    destination      text        NOT NULL,
    amount_nano      bigint      NOT NULL CHECK (amount_nano > 0),
    reserved_nano    bigint      NOT NULL CHECK (reserved_nano >= amount_nano), -- while it is signed: the amount and room for gas
    body_hash        text        NOT NULL CHECK (body_hash ~ '^[0-9a-f]{64}$'),
    request_id       text        NOT NULL DEFAULT '',             -- Fragment's
    request_number   bigint,                                      -- a purchase: of its request, among those of the wallet; NULL: unknown
    link_until       timestamptz,                                 -- a purchase: Fragment takes money until then, by the chain's clock
    state            text        NOT NULL DEFAULT 'signed' CHECK (state IN ('signed', 'paid', 'dead', 'bounced')),
    sent_at          timestamptz,                                 -- first broadcast
    chain_lt         bigint,                                      -- where it was found
    chain_hash       text        NOT NULL DEFAULT '',
    paid_nano        bigint      NOT NULL DEFAULT 0 CHECK (paid_nano >= 0), -- what left the wallet by it
    gas_nano         bigint      NOT NULL DEFAULT 0 CHECK (gas_nano >= 0),
    returned_nano    bigint      NOT NULL DEFAULT 0 CHECK (returned_nano BETWEEN 0 AND paid_nano), -- what came back when it bounced
    out_hash         text        NOT NULL DEFAULT '',             -- the message that carries the money
    settled_at       timestamptz,                                 -- paid or dead
    arrived_at       timestamptz,                                 -- when the destination kept the money, by the chain's clock
    kept_at          timestamptz,                                 -- the destination took the money for good
    confirmed_at     timestamptz,                                 -- Fragment has taken the confirmation
    proof            text        NOT NULL DEFAULT '' CHECK (proof IN ('', 'shop', 'chain')), -- of the Stars; '': none
    late             boolean     NOT NULL DEFAULT false,          -- found on the chain after it had passed for dead: a fault somewhere
    live             boolean     NOT NULL GENERATED ALWAYS AS (state IN ('signed', 'paid') AND NOT late) STORED,
    created_at       timestamptz NOT NULL DEFAULT now(),
    CHECK ((state = 'signed') = (settled_at IS NULL)),
    CHECK (state NOT IN ('paid', 'bounced') OR chain_hash <> ''),
    CHECK (kept_at IS NULL OR state = 'paid')
);
CREATE UNIQUE INDEX payments_message ON payments (hash_norm);
CREATE UNIQUE INDEX payments_live ON payments (transaction_hash, kind) WHERE live;
CREATE UNIQUE INDEX payments_seqno ON payments (wallet, seqno) WHERE live;
CREATE UNIQUE INDEX payments_in_flight ON payments (wallet) WHERE state = 'signed'; -- one under way
CREATE INDEX payments_of ON payments (transaction_hash, id);
CREATE INDEX payments_day ON payments (wallet, created_at);
CREATE INDEX payments_to ON payments (wallet, destination) WHERE kind = 'purchase';
CREATE INDEX payments_open_refunds ON payments (transaction_hash) WHERE kind = 'refund' AND live AND kept_at IS NULL;

-- Purchases that are paid, and of which nobody knows yet whether the destination keeps the money. There are few at any time.
CREATE INDEX payments_open_purchases ON payments (wallet, id) WHERE kind = 'purchase' AND state = 'paid' AND kept_at IS NULL;

-- What stops payments: an operator's pause all of them, the program's own hold purchases.
CREATE TABLE switches (
    name     text PRIMARY KEY CHECK (name IN ('pause', 'hold')),
    since    timestamptz,                                         -- NULL: off
    reason   text   NOT NULL DEFAULT '',
    by_user  bigint REFERENCES users (id),                        -- NULL: the program
    ended_at timestamptz,                                         -- when it was on for the last time; NULL: it never was
    CHECK (since IS NOT NULL OR (reason = '' AND by_user IS NULL))
);
INSERT INTO switches (name) VALUES ('pause'), ('hold');

-- Every finalised transaction of a wallet, in order and without a gap.
CREATE TABLE chain_transactions (
    wallet          text        NOT NULL REFERENCES ton_wallets (address),
    lt              bigint      NOT NULL CHECK (lt > prev_lt),
    hash            text        NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    prev_lt         bigint      NOT NULL,
    prev_hash       text        NOT NULL,
    at              timestamptz NOT NULL,                         -- the chain's clock
    aborted         boolean     NOT NULL,
    computed        boolean     NOT NULL,                         -- the contract ran and ended well
    exit_code       int         NOT NULL,
    acted           boolean     NOT NULL,                         -- so did what it wanted to send
    skipped_actions int         NOT NULL,
    in_hash         text        NOT NULL,
    in_hash_norm    text        NOT NULL,                         -- of a message from outside, else empty
    in_source       text        NOT NULL,                         -- empty: from outside
    in_nano         bigint      NOT NULL CHECK (in_nano >= 0),
    in_bounced      boolean     NOT NULL,
    out_count       int         NOT NULL,
    out_nano        bigint      NOT NULL CHECK (out_nano >= 0),   -- of all messages
    out_hash        text        NOT NULL,                         -- of the first, as the rest
    out_destination text        NOT NULL,
    out_body_hash   text        NOT NULL,
    fee_nano        bigint      NOT NULL CHECK (fee_nano >= 0),
    means           text        NOT NULL CHECK (means IN ('deposit', 'payment', 'bounce', 'other')),
    PRIMARY KEY (wallet, lt),
    UNIQUE (wallet, hash),
    UNIQUE (wallet, prev_lt)
);
CREATE INDEX chain_transactions_in ON chain_transactions (in_hash);

-- Double entry. Accounts: wallet and, as the other side, received, reserved and refund_due (the customers' money: free, set
-- aside for a payment, owed back), paid, gas and refunded (gone for good), returning (a bounced payment on its way back),
-- other (movements that belong to no customer). A positive balance is where the money is, a negative one where it came from.
CREATE TABLE ledger_entries (
    id               bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    cause            text        NOT NULL UNIQUE,                 -- what happened, so that it is written once
    wallet           text        NOT NULL REFERENCES ton_wallets (address),
    transaction_hash text REFERENCES transactions (hash),
    created_at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ledger_entries_of ON ledger_entries (transaction_hash);
CREATE TABLE ledger_postings (
    entry_id    bigint NOT NULL REFERENCES ledger_entries (id),
    account     text   NOT NULL CHECK (account IN
        ('wallet', 'received', 'reserved', 'refund_due', 'paid', 'gas', 'refunded', 'returning', 'other')),
    amount_nano bigint NOT NULL CHECK (amount_nano <> 0),
    PRIMARY KEY (entry_id, account)
);

-- The sums of the postings, written with them.
CREATE TABLE ledger_balances (
    wallet       text   NOT NULL REFERENCES ton_wallets (address),
    account      text   NOT NULL,
    balance_nano bigint NOT NULL,
    PRIMARY KEY (wallet, account),
    CHECK (account NOT IN ('reserved', 'refund_due') OR balance_nano <= 0)
);

-- +goose StatementBegin
CREATE FUNCTION ledger_is_zero() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT sum(amount_nano) FROM ledger_postings WHERE entry_id = NEW.entry_id) <> 0 THEN
        RAISE EXCEPTION 'ledger entry % does not balance', NEW.entry_id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER ledger_is_zero AFTER INSERT ON ledger_postings
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_is_zero();

-- +goose StatementBegin
CREATE FUNCTION ledger_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what the ledger says stays' USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER ledger_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_postings EXECUTE FUNCTION ledger_is_final();
CREATE TRIGGER ledger_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries EXECUTE FUNCTION ledger_is_final();

-- +goose Down
SELECT 1; -- forward only
