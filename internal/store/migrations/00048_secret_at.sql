-- +goose Up
-- When a token got its present secret: a session is confirmed only by a secret that is older than it. Of tokens of before, the time of their making.
ALTER TABLE tokens ADD COLUMN IF NOT EXISTS secret_at timestamptz;
UPDATE tokens SET secret_at = created_at WHERE secret_at IS NULL;
ALTER TABLE tokens ALTER COLUMN secret_at SET DEFAULT now(), ALTER COLUMN secret_at SET NOT NULL;

-- +goose Down
SELECT 1; -- forward only
