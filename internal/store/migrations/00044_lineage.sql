-- +goose NO TRANSACTION
-- +goose Up
-- Who has made what: tokens, agents, webhooks and links end with the token that made them. Each step can be run again. A build of an index that
-- was broken off leaves an invalid one, hence the drops.
SET statement_timeout = 0;

ALTER TABLE tokens
    ADD COLUMN IF NOT EXISTS parent_id bigint REFERENCES tokens (id),   -- whose request made it; NULL: the bot's link, the configuration, or of before
    ADD COLUMN IF NOT EXISTS rotated_by bigint REFERENCES tokens (id);  -- the other token whose request gave the present secret
ALTER TABLE users
    ADD COLUMN IF NOT EXISTS made_by bigint REFERENCES tokens (id),     -- the token whose request made the user: an agent ends with it
    ADD COLUMN IF NOT EXISTS promoted_by bigint REFERENCES tokens (id); -- the token whose request made the user an administrator
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS token_id bigint REFERENCES tokens (id); -- whose request has set the address or resumed it
ALTER TABLE sign_in_links ADD COLUMN IF NOT EXISTS ends_at timestamptz; -- of the session that the link starts, at the latest; NULL: as usual
ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS detail text NOT NULL DEFAULT '';

DROP INDEX CONCURRENTLY IF EXISTS tokens_parent;
CREATE INDEX CONCURRENTLY tokens_parent ON tokens (parent_id) WHERE parent_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS tokens_rotated_by;
CREATE INDEX CONCURRENTLY tokens_rotated_by ON tokens (rotated_by) WHERE rotated_by IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS users_made_by;
CREATE INDEX CONCURRENTLY users_made_by ON users (made_by) WHERE made_by IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS users_promoted_by;
CREATE INDEX CONCURRENTLY users_promoted_by ON users (promoted_by) WHERE promoted_by IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS webhooks_token;
CREATE INDEX CONCURRENTLY webhooks_token ON webhooks (token_id) WHERE token_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS sessions_token;
CREATE INDEX CONCURRENTLY sessions_token ON sessions (token_id) WHERE token_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS sign_in_links_token;
CREATE INDEX CONCURRENTLY sign_in_links_token ON sign_in_links (token_id) WHERE token_id IS NOT NULL;

-- Managing tokens is a scope of its own. What grants all that a user may do keeps granting it.
UPDATE tokens SET scopes = scopes || '{tokens}'::text[]
    WHERE scopes @> '{read,files,deliveries,tasks,downloads,webhooks}' AND NOT 'tokens' = ANY (scopes);
UPDATE sessions SET scopes = scopes || '{tokens}'::text[]
    WHERE scopes @> '{read,files,deliveries,tasks,downloads,webhooks}' AND NOT 'tokens' = ANY (scopes);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tokens_follow_users() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.token_hash IS NOT DISTINCT FROM OLD.token_hash THEN
            RETURN NULL;
        END IF;
        UPDATE tokens SET revoked_at = now() WHERE hash = OLD.token_hash AND revoked_at IS NULL;
    END IF;
    IF NEW.token_hash IS NOT NULL THEN
        INSERT INTO tokens (user_id, name, hash, scopes, origin) VALUES (NEW.id, 'first', NEW.token_hash,
            '{read,files,deliveries,tasks,downloads,webhooks,tokens,money,operate,users}', 'first')
        ON CONFLICT (hash) DO UPDATE SET revoked_at = NULL, revoked_by = NULL WHERE tokens.user_id = EXCLUDED.user_id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

RESET statement_timeout;

-- +goose Down
SELECT 1; -- forward only
