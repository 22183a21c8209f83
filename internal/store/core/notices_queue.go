package core

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// Joins is the time at which user u is told of an entity of workload $1: with what waits already, else after $3.
func Joins(entity string) string {
	return `coalesce((SELECT min(n.due_at) FROM news n WHERE n.user_id = u.id AND n.workload = $1 AND n.entity_id = ` + entity + `
		AND n.state = 'due'), now() + $3::interval)`
}

// queueNotice plans news of an event for one person, with the event itself: nobody who has no chat, or who made the
// event, is told. It joins the person's other news of the entity that waits, else it is due after gather.
func queueNotice(batch *pgx.Batch, workload, entity string, seq, user int64, actor *int64, gather time.Duration) {
	batch.Queue(`INSERT INTO news (user_id, workload, entity_id, seq, due_at)
		SELECT u.id, $1, $2, $4, `+Joins(`$2`)+` FROM users u
		WHERE u.id = $5 AND u.telegram_id IS NOT NULL AND u.id IS DISTINCT FROM $6 ON CONFLICT DO NOTHING`,
		workload, entity, gather, seq, user, actor)
}
