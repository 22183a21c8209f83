package operations

import (
	"context"
	"time"

	"stagecoach/internal/store/core"
)

// AboveQuota is a user who has more of a kind than a limit allows, because it was lowered or came later.
type AboveQuota struct {
	UserID  int64  `db:"user_id"`
	Limit   string `db:"name"`
	Maximum int    `db:"maximum"`
	Count   int64  `db:"count"`
}

// aboveTime bounds how long the search for users above a limit may take: it reads the keys of all that counts.
const aboveTime = 2 * time.Second

// AboveQuotas lists up to limit users above each limit, those with the most first.
func (s *Store) AboveQuotas(ctx context.Context, limit int) (above []AboveQuota, err error) {
	ctx, cancel := context.WithTimeout(ctx, aboveTime)
	defer cancel()

	for _, kind := range s.parts.quotas() {
		kind = s.db.Quotas.Of(kind)
		if kind.Maximum == 0 {
			continue
		}

		found, err := core.List[AboveQuota](ctx, s.db, `SELECT c.user_id, $3::text AS name, $1::int AS maximum, c.count FROM (`+kind.Above+`) c
			JOIN users u ON u.id = c.user_id WHERE NOT (u.role = 'ADMIN' AND u.status = 'ACTIVE') ORDER BY c.count DESC, c.user_id LIMIT $2`,
			kind.Maximum, limit, kind.Name)
		if err != nil {
			return nil, err
		}

		above = append(above, found...)
	}

	return above, nil
}
