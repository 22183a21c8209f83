-- +goose Up
-- What is old is found by these; all else that is deleted has numbers in the order of its making.
CREATE INDEX answers_made ON answers (created_at);
CREATE INDEX news_told ON news (due_at) WHERE state IN ('sent', 'unknown', 'lost');

-- +goose Down
SELECT 1; -- forward only
