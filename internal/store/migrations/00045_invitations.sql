-- +goose Up
-- Who was asked to join a workspace and has not agreed. Only who agrees is a member: until then nothing of the workspace is theirs.
CREATE TABLE workspace_invitations (
    id           bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    workspace_id bigint      NOT NULL REFERENCES workspaces (id),
    user_id      bigint      NOT NULL REFERENCES users (id),  -- a person, or a program without an owner
    invited_by   bigint      NOT NULL REFERENCES users (id),
    invited_at   timestamptz NOT NULL DEFAULT now(),
    refused_at   timestamptz,                                 -- for good: the user is not asked again
    UNIQUE (workspace_id, user_id)
);
CREATE INDEX workspace_invitations_user ON workspace_invitations (user_id, id);

-- Members who have not agreed are asked. Their agents, and agents that others than their owners have added, are members no more.
INSERT INTO workspace_invitations (workspace_id, user_id, invited_by, invited_at)
    SELECT m.workspace_id, m.user_id, w.owner_id, m.joined_at
    FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id JOIN users u ON u.id = m.user_id
    WHERE m.agreed_at IS NULL AND m.user_id <> w.owner_id AND u.owner_id IS NULL;
DELETE FROM workspace_members m USING workspaces w, users u
    WHERE w.id = m.workspace_id AND u.id = m.user_id AND m.user_id <> w.owner_id AND (m.agreed_at IS NULL
        OR EXISTS (SELECT 1 FROM workspace_members o
            WHERE o.workspace_id = m.workspace_id AND o.user_id = u.owner_id AND o.agreed_at IS NULL));
ALTER TABLE workspace_members DROP COLUMN agreed_at;

-- +goose Down
SELECT 1; -- forward only
