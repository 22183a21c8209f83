package operations

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// readAccess reads what a record grants to people: their valid tokens, who is blocked, an administrator or forgotten,
// and memberships, identities and webhooks. It is one statement, so that its parts agree.
const readAccess = `SELECT jsonb_build_object(
	'tokens', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'hash', encode(hash, 'hex'))), '[]') FROM tokens
		WHERE revoked_at IS NULL),
	'users', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'role', role, 'status', status,
		'forgotten', forgotten_at IS NOT NULL)), '[]') FROM users),
	'members', (SELECT coalesce(jsonb_agg(jsonb_build_object('workspace_id', workspace_id, 'user_id', user_id)), '[]') FROM workspace_members),
	'identities', (SELECT coalesce(jsonb_agg(jsonb_build_object('issuer', issuer, 'subject', subject, 'user_id', user_id)), '[]')
		FROM identities),
	'webhooks', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id)), '[]') FROM webhooks))`

// Access reads, as JSON, what the record grants to people.
func (s *Store) Access(ctx context.Context) ([]byte, error) {
	return core.Value[[]byte](ctx, s.db, readAccess)
}

// withdrawn revokes what $1, the access in a later record, does not grant.
var withdrawn = []string{
	`UPDATE tokens t SET revoked_at = now() WHERE revoked_at IS NULL AND NOT EXISTS (
		SELECT FROM jsonb_to_recordset($1::jsonb->'tokens') AS l (id bigint, hash text) WHERE l.id = t.id AND l.hash = encode(t.hash, 'hex'))`,
	`UPDATE users u SET role = ` + core.Literal(account.RoleUser) + `, promoted_by = NULL, updated_at = now()
		FROM jsonb_to_recordset($1::jsonb->'users') AS l (id bigint, role text) WHERE l.id = u.id AND l.role <> u.role AND u.role = ` + core.Literal(account.RoleAdmin),
	`UPDATE users u SET status = ` + core.Literal(account.UserBlocked) + `, updated_at = now()
		FROM jsonb_to_recordset($1::jsonb->'users') AS l (id bigint, status text) WHERE l.id = u.id AND l.status <> u.status AND l.status = ` + core.Literal(account.UserBlocked),
	`DELETE FROM workspace_members m WHERE NOT EXISTS (
		SELECT FROM jsonb_to_recordset($1::jsonb->'members') AS l (workspace_id bigint, user_id bigint)
		WHERE l.workspace_id = m.workspace_id AND l.user_id = m.user_id)`,
	`DELETE FROM identities i WHERE NOT EXISTS (
		SELECT FROM jsonb_to_recordset($1::jsonb->'identities') AS l (issuer text, subject text, user_id bigint)
		WHERE l.issuer = i.issuer AND l.subject = i.subject AND l.user_id = i.user_id)`,
	`DELETE FROM webhooks w WHERE NOT EXISTS (
		SELECT FROM jsonb_to_recordset($1::jsonb->'webhooks') AS l (id bigint) WHERE l.id = w.id)`,
}

// Withdraw revokes from people what a later record, read by Access, had revoked: tokens (including rotated ones),
// roles, memberships, identities and webhooks. It blocks and forgets the people that the later record had blocked and
// forgotten. Idempotent.
func (s *Store) Withdraw(ctx context.Context, later []byte) error {
	err := s.db.InLongTx(ctx, func(tx pgx.Tx) error {
		for _, statement := range withdrawn {
			if _, err := tx.Exec(ctx, statement, later); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}

	forgotten, err := core.Values[int64](ctx, s.db, `SELECT u.id FROM users u
		JOIN jsonb_to_recordset($1::jsonb->'users') AS l (id bigint, forgotten boolean) ON l.id = u.id
		WHERE l.forgotten AND u.forgotten_at IS NULL ORDER BY u.id`, later)
	if err != nil {
		return err
	}
	for _, id := range forgotten {
		if _, _, err := s.Forget(ctx, id, id); err != nil {
			return err
		}
	}
	return nil
}

// SignOutAll revokes all tokens except configured ones, because it is unknown what was revoked meanwhile. It returns
// their number.
func (s *Store) SignOutAll(ctx context.Context) (revoked int64, err error) {
	return core.Value[int64](ctx, s.db, `WITH revoked AS (
			UPDATE tokens SET revoked_at = now() WHERE revoked_at IS NULL AND origin <> 'configured' RETURNING id
		) SELECT count(*) FROM revoked`)
}
