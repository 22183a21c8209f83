package download

import (
	"context"
	"strconv"
	"strings"

	"stagecoach/internal/store/core"
)

// DrivenDownloads finds downloads by the keys of their workflows, user/book/medium: the last one of each.
func (s *Store) DrivenDownloads(ctx context.Context, keys []string) (core.DrivenRows, error) {
	possible := map[string]bool{}
	var asked, media []string
	var users, books []int64
	for _, key := range keys {
		parts := strings.Split(key, "/")
		if len(parts) != 3 {
			continue
		}
		user, errUser := strconv.ParseInt(parts[0], 10, 64)
		book, errBook := strconv.ParseInt(parts[1], 10, 64)
		if errUser == nil && errBook == nil {
			possible[key], asked = true, append(asked, key)
			users, books, media = append(users, user), append(books, book), append(media, parts[2])
		}
	}

	return s.db.Driven(ctx, possible, `SELECT DISTINCT ON (asked.key) asked.key, d.id::text AS entity, d.status NOT IN `+liveDownloads+` AS over,
		now() - d.updated_at_utc AS changed
		FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS asked (key, user_id, book_id, media_type)
		JOIN download_jobs d ON d.user_id = asked.user_id AND d.book_id = asked.book_id AND d.media_type = asked.media_type
		ORDER BY asked.key, d.id DESC`, asked, users, books, media)
}
