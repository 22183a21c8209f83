package download

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// books is the workload name of the books' events. They belong to the user who added the book.
const books = lifecycle.BookEvents

// MediumChange is one medium becoming available, missing or deleted.
type MediumChange struct {
	BookID    int64
	MediaType string
	To        string
	From      string // the required status; empty: any
	Path      string // the required path; empty: any
	ActorID   *int64 // nil: the system
}

var noMedium = fault.New(fault.NotFound, "the book has no such medium")

// ChangeMedium changes a medium's state and its book's state, with an event. It returns changed = false, and does
// nothing, if the medium is already in that state or does not meet the change's requirements.
func (s *Store) ChangeMedium(ctx context.Context, c MediumChange) (changed bool, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		creator, err := core.Value[int64](ctx, tx, `SELECT creator_id FROM books WHERE id = $1 FOR UPDATE`, c.BookID)
		if errors.Is(err, pgx.ErrNoRows) {
			return noBook
		}
		if err != nil {
			return err
		}

		now, err := core.One[LyingMedium](ctx, tx, noMedium, `SELECT `+lyingColumns+` FROM media_assets WHERE book_id = $1 AND media_type = $2`,
			c.BookID, c.MediaType)
		if err != nil {
			return err
		}
		if now.Status == c.To || c.From != "" && now.Status != c.From || c.Path != "" && now.Path != c.Path {
			return nil
		}

		changed = true
		return writeMedium(ctx, tx, c, now.Status, creator)
	})

	return changed && err == nil, err
}

// writeMedium writes a change with its event; the book's row is locked, so that its events are numbered consecutively.
func writeMedium(ctx context.Context, tx pgx.Tx, c MediumChange, from string, owner int64) error {
	entity := strconv.FormatInt(c.BookID, 10)
	seq, err := core.Value[int64](ctx, tx, `SELECT coalesce(max(seq), 0) + 1 FROM events
		WHERE workload = $1 AND entity_id = $2`, books, entity)
	if err != nil {
		return err
	}

	batch := &pgx.Batch{}
	batch.Queue(
		`UPDATE media_assets SET status = $3, updated_at = now() WHERE book_id = $1 AND media_type = $2`, c.BookID,
		c.MediaType, c.To,
	)
	queueBookState(batch, c.BookID)
	core.QueueEvent(
		batch, books, entity, seq, &owner,
		core.Event{Type: "medium_" + c.To, From: from, To: c.To, ActorID: c.ActorID, Comment: c.MediaType},
	)
	return tx.SendBatch(ctx, batch).Close()
}

// queueBookState derives a book's state from its media.
func queueBookState(batch *pgx.Batch, book int64) {
	batch.Queue(`UPDATE books SET state = CASE WHEN EXISTS (SELECT 1 FROM media_assets WHERE book_id = $1 AND status = 'available')
		THEN 'Library' ELSE 'Archive' END, updated_at = now() WHERE id = $1`, book)
}

// LyingMedium is a medium whose file should exist.
type LyingMedium struct {
	BookID    int64  `db:"book_id"`
	MediaType string `db:"media_type"`
	Status    string `db:"status"` // available or missing
	Path      string `db:"path"`   // relative: in the library folder; otherwise in qBittorrent's file system
}

const lyingColumns = `book_id, media_type, status, path`

// LyingMedia lists media, available or missing, after a given one, in the order of the primary key. Deleted media stay
// deleted, whatever files exist.
func (s *Store) LyingMedia(ctx context.Context, after LyingMedium, limit int) ([]LyingMedium, error) {
	return core.List[LyingMedium](ctx, s.db, `SELECT `+lyingColumns+` FROM media_assets
		WHERE (book_id, media_type) > ($1, $2) AND status IN ('available', 'missing') ORDER BY book_id, media_type LIMIT $3`,
		after.BookID, after.MediaType, limit)
}
