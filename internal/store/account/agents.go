package account

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// AgentQuota limits an owner's live agents.
var AgentQuota = core.Quota{
	Name:   "agents",
	Things: `FROM users WHERE owner_id = %s AND status <> ` + core.Literal(UserBlocked),
	Above: `SELECT owner_id AS user_id, count(*) FROM users WHERE owner_id IS NOT NULL AND status <> ` + core.Literal(UserBlocked) + `
		GROUP BY 1 HAVING count(*) > %d`,
}

// NoAgent is USER_NOT_FOUND for an agent.
var NoAgent = fault.New(fault.UserNotFound, "you have no such agent")

// CreateAgent adds an active agent of an owner, and its first token. Both end with the token's parent. QUOTA_EXCEEDED:
// the owner has too many agents. UNAUTHENTICATED: the parent has ended.
func (s *Store) CreateAgent(ctx context.Context, ownerID int64, name string, t Token, secret string) (agent User, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := hold(ctx, tx, t.ParentID); err != nil {
			return err
		}
		if err := s.db.Quotas.Of(AgentQuota).Check(ctx, tx, ownerID, 1); err != nil {
			return err
		}

		agent, err = core.One[User](ctx, tx, NoUser, `INSERT INTO users (name, role, status, owner_id, made_by) VALUES ($1, $2, $3, $4, $5)
			RETURNING `+UserColumns, name, RoleUser, UserActive, ownerID, t.ParentID)
		if err != nil {
			return err
		}

		t.UserID = agent.ID
		_, err = addToken(ctx, tx, t, secret, originMade)
		return err
	})
	return agent, err
}

// Agents lists an owner's agents with ids above after, ascending, including ended ones. Served by the index
// users_owner.
func (s *Store) Agents(ctx context.Context, ownerID, after int64, limit int) ([]User, error) {
	return core.List[User](ctx, s.db, `SELECT `+UserColumns+` FROM users WHERE owner_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
		ownerID, after, limit)
}

// AgentByID returns an agent of an owner; owner 0: of anyone.
func (s *Store) AgentByID(ctx context.Context, ownerID, id int64) (User, error) {
	return core.One[User](ctx, s.db, NoAgent, `SELECT `+UserColumns+` FROM users WHERE id = $2 AND owner_id IS NOT NULL
		AND ($1::bigint = 0 OR owner_id = $1)`, ownerID, id)
}

// AgentScopes lists the scopes granted by any of an agent's tokens. Served by the index tokens_user.
func (s *Store) AgentScopes(ctx context.Context, id int64) ([]Scope, error) {
	return core.Values[Scope](ctx, s.db, `SELECT DISTINCT unnest(scopes) FROM tokens WHERE user_id = $1 AND `+liveToken, id)
}

// EndAgent blocks an agent, ends its leases, and revokes its tokens with everything made by them. Idempotent.
func (s *Store) EndAgent(ctx context.Context, id, by int64) (agent User, ended Ended, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		agent, err = core.One[User](ctx, tx, NoAgent, `UPDATE users SET status = $2, updated_at = now()
			WHERE id = $1 AND owner_id IS NOT NULL RETURNING `+UserColumns, id, UserBlocked)
		if err != nil {
			return err
		}

		if ended, err = EndTokensOf(ctx, tx, id, by); err != nil {
			return err
		}
		return EndLeases(ctx, tx, id)
	})
	return agent, ended, err
}

// EventsBy lists up to limit events caused by a user, with ids below before (0: all), newest first. Served by the
// indexes on actor_id of each workload's events.
func (s *Store) EventsBy(ctx context.Context, actorID, before int64, limit int) ([]core.StreamedEvent, error) {
	return core.Chosen[core.StreamedEvent](ctx, s.db, core.EventSelect+`WHERE actor_id = $1 AND ($2::bigint = 0 OR id < $2)
		ORDER BY id DESC LIMIT $3`, actorID, before, limit)
}
