-- +goose Up
-- API tokens, several per user. users.token_hash is what release 0.1.0 reads and writes: the trigger below follows it for one release.
CREATE TABLE tokens (
    id             bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    user_id        bigint      NOT NULL REFERENCES users (id),
    name           text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    hash           bytea       NOT NULL UNIQUE,       -- sha256 of the secret, which is never stored
    previous_hash  bytea UNIQUE,                      -- of the secret before a rotation, good until previous_until
    previous_until timestamptz,
    scopes         text[]      NOT NULL,              -- what the token grants, as far as its user's role allows that
    origin         text        NOT NULL DEFAULT 'made' CHECK (origin IN ('made', 'first', 'configured')),
    expires_at     timestamptz,
    last_used_at   timestamptz,                       -- written at most once a minute
    revoked_at     timestamptz,
    revoked_by     bigint REFERENCES users (id),      -- NULL: it was replaced
    created_at     timestamptz NOT NULL DEFAULT now(),
    CHECK ((previous_hash IS NULL) = (previous_until IS NULL))
);
CREATE INDEX tokens_user ON tokens (user_id, id);

-- +goose StatementBegin
CREATE FUNCTION tokens_follow_users() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.token_hash IS NOT DISTINCT FROM OLD.token_hash THEN
            RETURN NULL;
        END IF;
        UPDATE tokens SET revoked_at = now() WHERE hash = OLD.token_hash AND revoked_at IS NULL;
    END IF;
    IF NEW.token_hash IS NOT NULL THEN
        INSERT INTO tokens (user_id, name, hash, scopes, origin) VALUES (NEW.id, 'first', NEW.token_hash,
            '{read,files,deliveries,tasks,downloads,webhooks,money,operate,users}', 'first')
        ON CONFLICT (hash) DO UPDATE SET revoked_at = NULL, revoked_by = NULL WHERE tokens.user_id = EXCLUDED.user_id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- The lock that this takes holds back who adds users until the rows below are there.
CREATE TRIGGER tokens_follow_users AFTER INSERT OR UPDATE OF token_hash ON users FOR EACH ROW EXECUTE FUNCTION tokens_follow_users();

-- Release 0.1.0 has made one user for each value that STAGECOACH_ADMIN_TOKEN ever had: without a Telegram account, and by nobody's request.
INSERT INTO tokens (user_id, name, hash, scopes, origin, created_at)
SELECT id, 'first', token_hash, '{read,files,deliveries,tasks,downloads,webhooks,money,operate,users}',
    CASE WHEN name = 'administrator' AND role = 'ADMIN' AND telegram_id IS NULL AND NOT EXISTS (
        SELECT 1 FROM audit_log a WHERE a.action = 'create-user' AND a.subject = 'user/' || u.id) THEN 'configured' ELSE 'first' END,
    created_at
FROM users u WHERE token_hash IS NOT NULL;

-- +goose Down
SELECT 1; -- forward only
