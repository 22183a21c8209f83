-- +goose Up
-- Who is signed in on the page. A browser's cookie holds the secret. One user has few of them: signing in deletes those that have ended
-- and the oldest beyond the limit, so nothing else has to delete them. A process of an earlier release neither reads nor writes here.
CREATE TABLE sessions (
    id            bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    user_id       bigint      NOT NULL REFERENCES users (id),
    hash          bytea       NOT NULL UNIQUE,        -- sha256 of the secret, which is never stored
    scopes        text[]      NOT NULL,               -- what the session grants, as far as its user's role allows that
    token_id      bigint REFERENCES tokens (id),      -- the token that signed in: the session ends with it; NULL: a link
    confirmed_at  timestamptz NOT NULL DEFAULT now(), -- when the person last proved who they are
    confirm_code  text,                               -- proves it again when it comes from the person's chat
    confirm_until timestamptz,
    expires_at    timestamptz NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CHECK ((confirm_code IS NULL) = (confirm_until IS NULL))
);
CREATE INDEX sessions_user ON sessions (user_id, id);

-- Links that sign in once. A user has one at most: a new one replaces it.
CREATE TABLE sign_in_links (
    user_id    bigint      PRIMARY KEY REFERENCES users (id),
    hash       bytea       NOT NULL UNIQUE,
    scopes     text[]      NOT NULL,
    token_id   bigint REFERENCES tokens (id), -- the token that made it: the session ends with it; NULL: the bot
    expires_at timestamptz NOT NULL
);

-- +goose Down
SELECT 1; -- forward only
