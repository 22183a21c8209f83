package account

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Maker is the creator of something: the token of the request, and when the request's authority ends. What it creates
// ends no later, and with the token.
type Maker struct {
	TokenID *int64     // nil: the bot, the configuration, or a session of a bot link
	EndsAt  *time.Time // nil: no end
}

// Ended counts what has ended, or would end, with a token.
type Ended struct {
	Tokens   int
	Agents   []User
	Webhooks int
}

// None reports whether nothing ended besides the token itself.
func (e Ended) None() bool { return e.Tokens == 0 && len(e.Agents) == 0 && e.Webhooks == 0 }

func (e Ended) String() string {
	return fmt.Sprintf("ended %d tokens, %d agents, %d webhooks", e.Tokens, len(e.Agents), e.Webhooks)
}

// lineage finds the tokens $1 and everything they made: tokens of their requests, tokens to which they gave a new
// secret, tokens of the agents they made, and so on. It includes ended tokens, so that what a token made is found after
// the token was replaced. UNION breaks the cycle of two tokens that rotated each other.
const lineage = `WITH RECURSIVE made (id) AS (
		SELECT unnest($1::bigint[])
		UNION SELECT next.id FROM made CROSS JOIN LATERAL (
			SELECT id FROM tokens WHERE parent_id = made.id
			UNION ALL SELECT id FROM tokens WHERE rotated_by = made.id
			UNION ALL SELECT t.id FROM users a JOIN tokens t ON t.user_id = a.id WHERE a.made_by = made.id AND a.owner_id IS NOT NULL
		) next
	) `

// hold keeps a token from ending during the transaction, so that its end covers what the transaction creates. nil: no
// token is checked. UNAUTHENTICATED: it has ended meanwhile.
func hold(ctx context.Context, tx pgx.Tx, tokenID *int64) error {
	if tokenID == nil {
		return nil
	}
	_, err := core.One[struct {
		ID int64 `db:"id"`
	}](ctx, tx, fault.New(fault.Unauthenticated, "the token of this request has ended"),
		`SELECT id FROM tokens WHERE id = $1 AND `+liveToken+` FOR SHARE`, tokenID)
	return err
}

// EndTokens revokes tokens and everything they made: tokens, agents, sessions and links. It pauses their webhooks, whose
// owners are notified. The tokens themselves are not counted. The caller ends what the agents are doing.
//
// Each round finds what in-flight requests made before their tokens were locked; a revoked token makes nothing more.
func EndTokens(ctx context.Context, tx pgx.Tx, ids []int64, by int64) (ended Ended, err error) {
	for {
		tokens, err := core.List[struct {
			ID   int64 `db:"id"`
			Live bool  `db:"live"`
			Root bool  `db:"root"`
		}](ctx, tx, lineage+`UPDATE tokens SET revoked_at = now(), revoked_by = $2
			WHERE id = ANY (ARRAY(SELECT id FROM made)) AND revoked_at IS NULL
			RETURNING id, coalesce(expires_at > now(), true) AS live, id = ANY ($1) AS root`, ids, by)
		if err != nil {
			return ended, err
		}

		agents, err := core.List[User](ctx, tx, lineage+`UPDATE users SET status = $2, updated_at = now()
			WHERE made_by = ANY (ARRAY(SELECT id FROM made)) AND owner_id IS NOT NULL AND status <> $2 RETURNING `+UserColumns,
			ids, UserBlocked)
		if err != nil {
			return ended, err
		}

		for _, token := range tokens {
			if token.Live && !token.Root {
				ended.Tokens++
			}
		}
		ended.Agents = append(ended.Agents, agents...)
		if len(tokens) == 0 && len(agents) == 0 {
			break
		}
	}

	blocked := make([]int64, len(ended.Agents))
	for i, agent := range ended.Agents {
		blocked[i] = agent.ID
	}
	if err := EndLeases(ctx, tx, blocked...); err != nil {
		return ended, err
	}

	ended.Webhooks, err = endUses(ctx, tx, ids)
	return ended, err
}

// endUses ends the sessions and links of tokens and all their descendants, and pauses their webhooks.
func endUses(ctx context.Context, tx pgx.Tx, ids []int64) (webhooks int, err error) {
	batch := &pgx.Batch{}
	batch.Queue(lineage+`DELETE FROM sessions WHERE token_id = ANY (ARRAY(SELECT id FROM made))`, ids)
	batch.Queue(lineage+`DELETE FROM sign_in_links WHERE token_id = ANY (ARRAY(SELECT id FROM made))`, ids)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return 0, err
	}

	paused, err := core.List[struct {
		ID      int64 `db:"id"`
		UserID  int64 `db:"user_id"`
		Version int64 `db:"version"`
		Person  int64 `db:"person"`
	}](ctx, tx, lineage+`UPDATE webhooks w SET state = $2, reason = $3, version = version + 1, claim = claim + 1, waiting = false,
			woken_at = now(), updated_at = now()
		WHERE token_id = ANY (ARRAY(SELECT id FROM made)) AND state = $4
		RETURNING id, user_id, version, (SELECT coalesce(owner_id, users.id) FROM users WHERE users.id = w.user_id) AS person`,
		ids, lifecycle.WebhookPaused, fault.TokenEnded, lifecycle.WebhookActive)
	if err != nil || len(paused) == 0 {
		return 0, err
	}

	batch = &pgx.Batch{}
	for _, one := range paused {
		entity := fmt.Sprint(one.ID)
		core.QueueEvent(batch, lifecycle.WebhookEvents, entity, one.Version, &one.UserID, core.Event{
			Type: lifecycle.WebhookPause, From: lifecycle.WebhookActive, To: lifecycle.WebhookPaused,
			Comment: string(fault.TokenEnded),
		})
		core.QueueNotice(batch, lifecycle.WebhookEvents, entity, one.Version, one.Person, nil, 0)
	}
	return len(paused), tx.SendBatch(ctx, batch).Close()
}

// endNoLater caps the expiry of all descendants of a token at the token's.
func endNoLater(ctx context.Context, tx pgx.Tx, id int64, ends *time.Time) error {
	if ends == nil {
		return nil
	}
	_, err := tx.Exec(ctx, lineage+`UPDATE tokens SET expires_at = $2
		WHERE id = ANY (ARRAY(SELECT id FROM made)) AND (expires_at IS NULL OR expires_at > $2)`, []int64{id}, ends)
	return err
}

// EndTokensOf revokes all tokens of a user with everything made by them, and ends the user's sessions and links.
func EndTokensOf(ctx context.Context, tx pgx.Tx, userID, by int64) (ended Ended, err error) {
	ids, err := core.Values[int64](ctx, tx, `SELECT id FROM tokens WHERE user_id = $1 AND revoked_at IS NULL`, userID)
	if err != nil {
		return ended, err
	}
	if ended, err = EndTokens(ctx, tx, ids, by); err != nil {
		return ended, err
	}

	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM sessions WHERE user_id = $1`, userID)
	batch.Queue(`DELETE FROM sign_in_links WHERE user_id = $1`, userID)
	return ended, tx.SendBatch(ctx, batch).Close()
}

// Descendant is something made by a token, directly or through other descendants.
type Descendant struct {
	Kind   string `db:"kind"` // token, agent, webhook, or user
	ID     int64  `db:"id"`
	Name   string `db:"name"`
	UserID int64  `db:"user_id"` // its owner
}

// Kinds of descendants. Users are people whom the token created or made administrators: they do not end with it.
const (
	MadeToken   = "token"
	MadeAgent   = "agent"
	MadeWebhook = "webhook"
	MadeUser    = "user"
)

// descended finds the live descendants of the tokens $1.
var descended = lineage + `, found AS (
		SELECT 1 AS place, 'token' AS kind, id, name, user_id FROM tokens
			WHERE id = ANY (ARRAY(SELECT id FROM made)) AND NOT id = ANY ($1) AND ` + liveToken + `
		UNION ALL SELECT 2, 'agent', id, name, owner_id FROM users
			WHERE made_by = ANY (ARRAY(SELECT id FROM made)) AND owner_id IS NOT NULL AND status <> ` + core.Literal(UserBlocked) + `
		UNION ALL SELECT 3, 'webhook', id, '', user_id FROM webhooks
			WHERE token_id = ANY (ARRAY(SELECT id FROM made)) AND state = '` + lifecycle.WebhookActive + `'
		UNION ALL SELECT 4, 'user', id, name, id FROM users
			WHERE id IN (SELECT id FROM users WHERE made_by = ANY (ARRAY(SELECT id FROM made)) 
				UNION SELECT id FROM users WHERE promoted_by = ANY (ARRAY(SELECT id FROM made)) AND role = 'ADMIN')
				AND owner_id IS NULL AND status <> ` + core.Literal(UserBlocked) + `
	) `

// Descendants lists up to limit descendants of a token, and counts all of them by kind.
func (s *Store) Descendants(ctx context.Context, id int64, limit int) (some []Descendant, counts map[string]int64, err error) {
	some, err = core.List[Descendant](ctx, s.db, descended+`SELECT kind, id, name, user_id FROM found ORDER BY place, id LIMIT $2`,
		[]int64{id}, limit)
	if err != nil {
		return nil, nil, err
	}

	rows, err := core.List[struct {
		Kind string `db:"kind"`
		N    int64  `db:"n"`
	}](ctx, s.db, descended+`SELECT kind, count(*) AS n FROM found GROUP BY kind`, []int64{id})
	counts = map[string]int64{}
	for _, row := range rows {
		counts[row.Kind] = row.N
	}
	return some, counts, err
}
