-- +goose Up
-- Whose download has brought a medium: its link is shown to them. NULL: not known, as of what a process of release 0.1.0 writes; then
-- only administrators see the link.
ALTER TABLE media_assets ADD COLUMN owner_id bigint REFERENCES users (id);
UPDATE media_assets m SET owner_id = d.user_id FROM (
    SELECT DISTINCT ON (book_id, media_type, source_url) book_id, media_type, source_url, user_id
    FROM download_jobs WHERE status = 'completed' ORDER BY book_id, media_type, source_url, id
) d WHERE d.book_id = m.book_id AND d.media_type = m.media_type AND d.source_url = m.source_url;

-- NULL: the member was let in by somebody else and has not agreed to be named and written to. Members of before have agreed.
ALTER TABLE workspace_members ADD COLUMN agreed_at timestamptz DEFAULT now();

-- Set when a person was made anonymous.
ALTER TABLE users ADD COLUMN forgotten_at timestamptz;

-- +goose Down
SELECT 1; -- forward only
