-- +goose Up
CREATE TABLE users (
    id           bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    telegram_id  bigint UNIQUE,
    name         text        NOT NULL DEFAULT '',
    username     text CHECK (username = lower(username) AND username <> ''), -- the Telegram name without "@", as last seen
    language     text        NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'ru')),
    language_chosen boolean  NOT NULL DEFAULT false,  -- chosen by the person: their Telegram language is ignored
    mutes_agents boolean     NOT NULL DEFAULT false,  -- no notifications of agents' actions on tasks
    role         text        NOT NULL DEFAULT 'USER' CHECK (role IN ('USER', 'ADMIN')),
    status       text        NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'ACTIVE', 'BLOCKED')),
    owner_id     bigint REFERENCES users (id),        -- of an agent; NULL: a person, or a program without an owner
    made_by      bigint,                              -- the token whose request made the user: an agent ends with it
    promoted_by  bigint,                              -- the token whose request made the user an administrator
    forgotten_at timestamptz,                         -- when the person was anonymized
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_username ON users (username);
CREATE INDEX users_status ON users (status, id);
CREATE INDEX users_admins ON users (id) WHERE role = 'ADMIN';
CREATE INDEX users_owner ON users (owner_id, id) WHERE owner_id IS NOT NULL;
CREATE INDEX users_made_by ON users (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX users_promoted_by ON users (promoted_by) WHERE promoted_by IS NOT NULL;

-- API tokens, several per user.
CREATE TABLE tokens (
    id             bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    user_id        bigint      NOT NULL REFERENCES users (id),
    name           text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    hash           bytea       NOT NULL UNIQUE,       -- sha256 of the secret, which is never stored
    secret_at      timestamptz NOT NULL DEFAULT now(), -- when the token got this secret
    previous_hash  bytea UNIQUE,                      -- of the secret before a rotation, valid until previous_until
    previous_until timestamptz,
    scopes         text[]      NOT NULL,              -- granted as far as the user's role allows
    origin         text        NOT NULL DEFAULT 'made' CHECK (origin IN ('made', 'first', 'configured')),
    parent_id      bigint REFERENCES tokens (id),     -- the token whose request made it; NULL: the bot's link, or the configuration
    rotated_by     bigint REFERENCES tokens (id),     -- the other token whose request set the current secret
    expires_at     timestamptz,
    last_used_at   timestamptz,                       -- written at most once a minute
    revoked_at     timestamptz,
    revoked_by     bigint REFERENCES users (id),      -- NULL: it was replaced
    created_at     timestamptz NOT NULL DEFAULT now(),
    CHECK ((previous_hash IS NULL) = (previous_until IS NULL))
);
CREATE INDEX tokens_user ON tokens (user_id, id);
CREATE INDEX tokens_parent ON tokens (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tokens_rotated_by ON tokens (rotated_by) WHERE rotated_by IS NOT NULL;

-- Users and tokens reference each other.
ALTER TABLE users
    ADD FOREIGN KEY (made_by) REFERENCES tokens (id),
    ADD FOREIGN KEY (promoted_by) REFERENCES tokens (id);

-- Browsers signed in on the pages. A browser's cookie holds the secret. A user has few sessions: signing in deletes
-- ended ones and the oldest beyond the limit, so nothing else has to delete them.
CREATE TABLE sessions (
    id            bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    user_id       bigint      NOT NULL REFERENCES users (id),
    hash          bytea       NOT NULL UNIQUE,        -- sha256 of the secret, which is never stored
    scopes        text[]      NOT NULL,               -- granted as far as the user's role allows
    token_id      bigint REFERENCES tokens (id),      -- the token that signed in: the session ends with it; NULL: a link
    confirmed_at  timestamptz NOT NULL DEFAULT now(), -- when the person last proved their identity
    confirm_code  text,                               -- proves it again when sent from the person's chat
    confirm_until timestamptz,
    expires_at    timestamptz NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CHECK ((confirm_code IS NULL) = (confirm_until IS NULL))
);
CREATE INDEX sessions_user ON sessions (user_id, id);
CREATE INDEX sessions_token ON sessions (token_id) WHERE token_id IS NOT NULL;

-- Single-use sign-in links. A user has at most one: a new one replaces it.
CREATE TABLE sign_in_links (
    user_id    bigint      PRIMARY KEY REFERENCES users (id),
    hash       bytea       NOT NULL UNIQUE,
    scopes     text[]      NOT NULL,
    token_id   bigint REFERENCES tokens (id), -- the token that made it: the session ends with it; NULL: the bot
    expires_at timestamptz NOT NULL,
    ends_at    timestamptz                    -- latest end of the session that the link starts; NULL: the default
);
CREATE INDEX sign_in_links_token ON sign_in_links (token_id) WHERE token_id IS NOT NULL;

-- People's identities at an OpenID Connect provider.
CREATE TABLE identities (
    issuer     text        NOT NULL,
    subject    text        NOT NULL,
    user_id    bigint      NOT NULL REFERENCES users (id),
    made_admin boolean     NOT NULL DEFAULT false, -- the provider's group made the user an administrator, and may revoke that
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user ON identities (user_id);

-- Every refused privileged attempt and every action of an administrator. Refusals with the same actor, action, door and
-- minute share a row, so that they cannot fill the table.
CREATE TABLE audit_log (
    id         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    actor_id   bigint REFERENCES users (id),
    action     text        NOT NULL,
    subject    text        NOT NULL DEFAULT '',
    detail     text        NOT NULL DEFAULT '',
    outcome    text        NOT NULL CHECK (outcome IN ('done', 'refused')),
    door       text        NOT NULL CHECK (door IN ('bot', 'http', 'cli', 'system')),
    count      bigint      NOT NULL DEFAULT 1, -- of refusals; the subject is the first one's
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX audit_log_refused ON audit_log (date_bin('1 minute', created_at, 'epoch'), actor_id, action, door)
    WHERE outcome = 'refused';

-- OAuth tokens of external systems, AES-GCM sealed; rotated under a row lock.
CREATE TABLE oauth_tokens (
    provider      text PRIMARY KEY,
    access_token  bytea,
    refresh_token bytea,
    expires_at    timestamptz,
    seeds         text[]      NOT NULL DEFAULT '{}', -- sha256 of every configured token that was adopted
    updated_at    timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
SELECT 1; -- forward only
