package download

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// LibraryFile is a file of a medium in the library folder.
type LibraryFile struct {
	BookID    int64  `db:"book_id"`
	MediaType string `db:"media_type"`
	Place     int    `db:"place"` // in reading order, from 1
	Path      string `db:"path"`  // relative to the library folder, with slashes
	Size      int64  `db:"size"`  // bytes
}

const libraryFiles = `SELECT f.book_id, f.media_type, f.place, f.path, f.size
	FROM library_files f JOIN media_assets m USING (book_id, media_type) WHERE m.status = 'available' AND `

// FilesOf returns the files of the available media of books, in reading order: the first 500 of each, so that an answer
// about many books stays bounded.
func (s *Store) FilesOf(ctx context.Context, books []int64) ([]LibraryFile, error) {
	return core.List[LibraryFile](ctx, s.db, libraryFiles+`f.book_id = ANY ($1) AND f.place <= 500
		ORDER BY f.book_id, f.media_type, f.place`, books)
}

// HasFile says whether a path of the library folder is a file of an available medium.
func (s *Store) HasFile(ctx context.Context, path string) (bool, error) {
	found, err := core.List[LibraryFile](ctx, s.db, libraryFiles+`f.path = $1`, path)
	return len(found) > 0, err
}

// MarkSent records that the deliveries of a download's files were made, as its owner has wished.
func (s *Store) MarkSent(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET sent_at = coalesce(sent_at, now()), attention = '', updated_at_utc = now()
		WHERE id = $1`, id)
}

// Unsent returns the first of the downloads that completed at least age ago and whose files are still to be sent. The
// index download_jobs_unsent serves it.
func (s *Store) Unsent(ctx context.Context, age time.Duration, limit int) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT id FROM download_jobs WHERE send AND sent_at IS NULL AND attention = ''
		AND status = `+core.Literal(lifecycle.DownloadCompleted)+` AND completed_at_utc < now() - $1::interval ORDER BY id LIMIT $2`, age, limit)
}

// WishSent records that a download's files are to be sent to its owner when it completes. One that has ended stays as it
// is.
func (s *Store) WishSent(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET send = true WHERE id = $1 AND status IN `+liveDownloads, id)
}

// MarkNotSent records why the deliveries of a download's files could not be made, with a notice to its owner, unless the
// download needs a person's attention already.
func (s *Store) MarkNotSent(ctx context.Context, id int64, code fault.Code) error {
	_, err := s.Change(ctx, id, func(walk *DownloadWalk) error {
		if walk.Row.SentAt == nil && walk.Row.Attention == "" {
			walk.Row.Attention = string(code)
			walk.Note(lifecycle.DownloadNotSent)
		}
		return nil
	})
	return err
}
