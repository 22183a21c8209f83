-- +goose Up
-- After a vacuum the last errors are read from the index alone, as for deliveries.
CREATE TABLE transaction_events PARTITION OF events FOR VALUES IN ('transaction')
    WITH (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);
CREATE INDEX transaction_events_errors ON transaction_events (created_at, comment) WHERE type = 'failed' AND comment <> '';
CREATE INDEX transaction_events_actor ON transaction_events (actor_id, id) WHERE actor_id IS NOT NULL; -- what a user has done

-- A wallet of ours and how far its history is known: gap-free up to the cursor. Any change of a wallet's payments or ledger
-- holds this row's lock, and takes it before any other.
CREATE TABLE ton_wallets (
    address     text PRIMARY KEY CHECK (address ~ '^-?[0-9]+:[0-9a-f]{64}$'),
    cursor_lt   bigint      NOT NULL CHECK (cursor_lt >= 0),      -- 0: before the first transaction
    cursor_hash text        NOT NULL CHECK (cursor_hash ~ '^([0-9a-f]{64})?$'),
    scanned_to  timestamptz,                                      -- chain time: nothing up to it is missing, or can still arrive
    next_seqno  bigint      NOT NULL DEFAULT 0,                   -- above every seqno known to be used
    requests    bigint      NOT NULL DEFAULT 0,                   -- to Fragment with this wallet's session so far; only the last one can be queried
    request_of   text,                                            -- the transaction of the last request until something is signed for it; NULL: closed
    requested_at timestamptz,                                     -- when that request was allowed
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    CHECK ((request_of IS NULL) = (requested_at IS NULL))
);

CREATE TABLE transactions (
    id                        bigint NOT NULL UNIQUE GENERATED ALWAYS AS IDENTITY, -- the order of lists
    hash                      text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),    -- of the incoming transaction on the chain
    receipt_key               text        NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', '')
        CHECK (receipt_key ~ '^[0-9a-f]{32}$'),                                    -- grants access to the receipt: 122 random bits cannot be guessed
    wallet                    text        NOT NULL REFERENCES ton_wallets (address),
    lt                        bigint      NOT NULL,
    amount_nano               bigint      NOT NULL CHECK (amount_nano > 0),
    sender                    text        NOT NULL CHECK (sender <> ''),
    comment                   text        NOT NULL,                                -- as written by the sender
    deposit_confirmed_at      timestamptz,                                         -- an operator has reviewed the deposit
    username                  text        NOT NULL DEFAULT '',                     -- recipient of the Stars
    user_id                   bigint REFERENCES users (id),                        -- the recipient as a user, if known
    stars                     bigint      NOT NULL DEFAULT 0 CHECK (stars >= 0),
    quote_nano                bigint      NOT NULL DEFAULT 0 CHECK (quote_nano >= 0), -- 0: not yet priced
    quoted_at                 timestamptz,                                         -- when the Stars were priced; NULL: not yet priced
    recipient                 text        NOT NULL DEFAULT '',                     -- Fragment's name for the username
    status                    text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'processed', 'failed')),
    attempt                   int         NOT NULL DEFAULT 0 CHECK (attempt >= 0), -- attempts to buy so far
    error_message             text        NOT NULL DEFAULT '',
    error_class               text        NOT NULL DEFAULT '' CHECK (error_class IN ('', 'retryable', 'non-retryable', 'unknown')),
    fragment_transaction_hash text        NOT NULL DEFAULT '' CHECK (fragment_transaction_hash ~ '^([0-9a-f]{64})?$'), -- of our payment on the chain
    refund_due_nano           bigint      NOT NULL DEFAULT 0 CHECK (refund_due_nano >= 0), -- owed to the sender and not in transit
    refund_approved           boolean     NOT NULL DEFAULT false,                  -- an operator has allowed a refund above the limits
    dust_nano                 bigint      NOT NULL DEFAULT 0 CHECK (dust_nano >= 0), -- was owed, but kept: the transfer would cost more than its amount
    needs_review              boolean     NOT NULL DEFAULT false,
    review_reason             text        NOT NULL DEFAULT '',
    processing_since          timestamptz,                                         -- when it was last entered
    stopped_before            interval    NOT NULL DEFAULT '0',                    -- how long payments had been stopped in total by then
    stuck_alerted_at          timestamptz,                                         -- since processing_since
    taken_by                  text        NOT NULL DEFAULT '',                     -- the activity attempt that buys; '': none has begun
    deferred_at               timestamptz,                                         -- when its payment first did not fit into the 24-hour limit; NULL: not tried, or it fits
    deferred_until            timestamptz,                                         -- when there will be room for it, unless others take it; NULL: it does not wait for room

    -- Whether and when the system retries a failed order.
    failures                  int         NOT NULL DEFAULT 0,                      -- of the order itself; an operator's retry resets it
    retry_at                  timestamptz,                                         -- when the system retries; NULL: it does not
    given_up_at               timestamptz,                                         -- when an operator was notified instead

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
    CHECK (needs_review = (review_reason <> '')),
    CHECK (retry_at IS NULL AND given_up_at IS NULL OR status = 'failed' AND NOT needs_review)
);
CREATE UNIQUE INDEX transactions_receipt ON transactions (receipt_key);
CREATE INDEX transactions_live ON transactions (id) WHERE status IN ('pending', 'processing') OR refund_due_nano > 0;
CREATE INDEX transactions_unstarted ON transactions (id)
    WHERE workflow_started_at IS NULL AND (status IN ('pending', 'processing') OR refund_due_nano > 0 OR retry_at IS NOT NULL);
CREATE INDEX transactions_status ON transactions (status, id);
CREATE INDEX transactions_failed ON transactions (error_message) WHERE status = 'failed';
CREATE INDEX transactions_user ON transactions (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX transactions_created ON transactions (created_at);
CREATE INDEX transactions_username ON transactions (lower(username), id);
CREATE INDEX transactions_review ON transactions (id) WHERE needs_review;
CREATE INDEX transactions_retry ON transactions (id) WHERE retry_at IS NOT NULL;
CREATE INDEX transactions_error ON transactions (error_message, id) WHERE status = 'failed';
CREATE INDEX transactions_given_up ON transactions (id) WHERE given_up_at IS NOT NULL;
CREATE INDEX transactions_deferred ON transactions (deferred_at, hash) WHERE deferred_at IS NOT NULL;
CREATE INDEX transactions_retryable ON transactions (id) WHERE status = 'failed' AND error_class <> 'non-retryable';

-- Signed payments. A row is written before its bytes leave the program; its outcome is read only from the chain.
CREATE TABLE payments (
    id               bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    kind             text        NOT NULL CHECK (kind IN ('purchase', 'refund')),
    transaction_hash text        NOT NULL REFERENCES transactions (hash),
    attempt          int         NOT NULL CHECK (attempt > 0),    -- of the transaction, when signed
    wallet           text        NOT NULL REFERENCES ton_wallets (address),
    seqno            bigint      NOT NULL CHECK (seqno BETWEEN 0 AND 4294967295),
    valid_until      timestamptz NOT NULL,                        -- by the chain's clock
    boc              bytea       NOT NULL,
    hash_norm        text        NOT NULL CHECK (hash_norm ~ '^[0-9a-f]{64}$'),
    destination      text        NOT NULL,
    amount_nano      bigint      NOT NULL CHECK (amount_nano > 0),
    reserved_nano    bigint      NOT NULL CHECK (reserved_nano >= amount_nano), -- while signed: the amount and room for gas
    body_hash        text        NOT NULL CHECK (body_hash ~ '^[0-9a-f]{64}$'),
    request_id       text        NOT NULL DEFAULT '',             -- Fragment's
    request_number   bigint,                                      -- of a purchase: of its request, among the wallet's; NULL: unknown
    link_until       timestamptz,                                 -- of a purchase: until when Fragment accepts money, by the chain's clock
    state            text        NOT NULL DEFAULT 'signed' CHECK (state IN ('signed', 'paid', 'dead', 'bounced')),
    sent_at          timestamptz,                                 -- first broadcast
    chain_lt         bigint,                                      -- where it was found
    chain_hash       text        NOT NULL DEFAULT '',
    paid_nano        bigint      NOT NULL DEFAULT 0 CHECK (paid_nano >= 0), -- what left the wallet
    gas_nano         bigint      NOT NULL DEFAULT 0 CHECK (gas_nano >= 0),
    returned_nano    bigint      NOT NULL DEFAULT 0 CHECK (returned_nano BETWEEN 0 AND paid_nano), -- what came back if it bounced
    out_hash         text        NOT NULL DEFAULT '',             -- the message that carries the money
    settled_at       timestamptz,                                 -- paid or dead
    arrived_at       timestamptz,                                 -- when the destination kept the money, by the chain's clock
    kept_at          timestamptz,                                 -- when the destination had finally kept the money
    confirmed_at     timestamptz,                                 -- when Fragment had accepted the confirmation
    proof            text        NOT NULL DEFAULT '' CHECK (proof IN ('', 'shop', 'chain')), -- of the Stars; '': none
    late             boolean     NOT NULL DEFAULT false,          -- found on the chain after it was declared dead: a fault somewhere
    live             boolean     NOT NULL GENERATED ALWAYS AS (state IN ('signed', 'paid') AND NOT late) STORED,
    created_at       timestamptz NOT NULL DEFAULT now(),
    CHECK ((state = 'signed') = (settled_at IS NULL)),
    CHECK (state NOT IN ('paid', 'bounced') OR chain_hash <> ''),
    CHECK (kept_at IS NULL OR state = 'paid')
);
CREATE UNIQUE INDEX payments_message ON payments (hash_norm);
CREATE UNIQUE INDEX payments_live ON payments (transaction_hash, kind) WHERE live;
CREATE UNIQUE INDEX payments_seqno ON payments (wallet, seqno) WHERE live;
CREATE UNIQUE INDEX payments_in_flight ON payments (wallet) WHERE state = 'signed'; -- one in flight
CREATE INDEX payments_of ON payments (transaction_hash, id);
CREATE INDEX payments_day ON payments (wallet, created_at);
CREATE INDEX payments_to ON payments (wallet, destination) WHERE kind = 'purchase';
CREATE INDEX payments_open_refunds ON payments (transaction_hash) WHERE kind = 'refund' AND live AND kept_at IS NULL;

-- Paid purchases for which it is still unknown whether the destination keeps the money. There are few at any time.
CREATE INDEX payments_open_purchases ON payments (wallet, id) WHERE kind = 'purchase' AND state = 'paid' AND kept_at IS NULL;

-- What stops payments: an operator's pause stops all of them, the system's hold only purchases.
CREATE TABLE switches (
    name     text PRIMARY KEY CHECK (name IN ('pause', 'hold')),
    since    timestamptz,                                         -- NULL: off
    reason   text   NOT NULL DEFAULT '',
    by_user  bigint REFERENCES users (id),                        -- NULL: the program
    ended_at timestamptz,                                         -- when it was last on; NULL: never
    stopped  interval NOT NULL DEFAULT '0',                       -- how long in total; time when both were on counts once in the sum of both
    next_at  timestamptz,                                         -- of a hold: when a process next probes whether its cause is gone
    probes   int  NOT NULL DEFAULT 0,                             -- of a hold: the number of probes since it is on
    suspect    text NOT NULL DEFAULT '',                          -- of a hold: the last failure of an order that the shop may have caused
    suspect_of text NOT NULL DEFAULT '',                          -- that order
    CHECK (since IS NOT NULL OR (reason = '' AND by_user IS NULL))
);
INSERT INTO switches (name) VALUES ('pause'), ('hold');
ALTER TABLE switches ENABLE ROW LEVEL SECURITY;
CREATE POLICY payments ON switches USING (true) WITH CHECK (name = 'hold' AND by_user IS NULL); -- a transaction locks both

-- Every finalized transaction of a wallet, in order and without a gap.
CREATE TABLE chain_transactions (
    wallet          text        NOT NULL REFERENCES ton_wallets (address),
    lt              bigint      NOT NULL CHECK (lt > prev_lt),
    hash            text        NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    prev_lt         bigint      NOT NULL,
    prev_hash       text        NOT NULL,
    at              timestamptz NOT NULL,                         -- the chain's clock
    aborted         boolean     NOT NULL,
    computed        boolean     NOT NULL,                         -- the contract ran successfully
    exit_code       int         NOT NULL,
    acted           boolean     NOT NULL,                         -- its messages were sent
    skipped_actions int         NOT NULL,
    in_hash         text        NOT NULL,
    in_hash_norm    text        NOT NULL,                         -- of an external message, otherwise empty
    in_source       text        NOT NULL,                         -- empty: external
    in_nano         bigint      NOT NULL CHECK (in_nano >= 0),
    in_bounced      boolean     NOT NULL,
    out_count       int         NOT NULL,
    out_nano        bigint      NOT NULL CHECK (out_nano >= 0),   -- of all messages
    out_hash        text        NOT NULL,                         -- of the first, like the following columns
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
-- aside for a payment, owed back), paid, gas and refunded (gone for good), returning (a bounced payment in transit back),
-- other (movements that belong to no customer). A positive balance is where the money is, a negative one where it came from.
CREATE TABLE ledger_entries (
    id               bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    cause            text        NOT NULL UNIQUE,                 -- the event, so that it is written once
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
