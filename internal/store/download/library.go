package download

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// LibraryFile is a file that a download put into the library folder.
type LibraryFile struct {
	Place int    `db:"place"` // in reading order, from 1
	Path  string `db:"path"`  // relative to the library folder, with slashes
	Size  int64  `db:"size"`  // bytes
}

// MediumFile is a file of a book's medium.
type MediumFile struct {
	BookID    int64  `db:"book_id"`
	MediaType string `db:"media_type"`
	LibraryFile
}

const mediumFiles = `SELECT m.book_id, m.media_type, f.place, f.path, f.size
	FROM media_assets m JOIN library_files f USING (job_id) WHERE m.status = 'available' AND `

// FilesOf returns, in reading order, the first files of each available medium of the given books.
func (s *Store) FilesOf(ctx context.Context, books []int64, ofEach int) ([]MediumFile, error) {
	return core.List[MediumFile](ctx, s.db, mediumFiles+`m.book_id = ANY ($1) AND f.place <= $2::int
		ORDER BY m.book_id, m.media_type, f.place`, books, ofEach)
}

// FilesAfter returns files of a book's available media after a given one, in reading order. The given file's medium and
// place are sufficient.
func (s *Store) FilesAfter(ctx context.Context, file MediumFile, limit int) ([]MediumFile, error) {
	return core.List[MediumFile](ctx, s.db, mediumFiles+`m.book_id = $1 AND (m.media_type, f.place) > ($2, $3::int)
		ORDER BY m.media_type, f.place LIMIT $4`, file.BookID, file.MediaType, file.Place, limit)
}

// FileAt returns the file at a place in an available medium.
func (s *Store) FileAt(ctx context.Context, book int64, mediaType string, place int) (MediumFile, error) {
	return core.One[MediumFile](ctx, s.db, noFile, mediumFiles+`m.book_id = $1 AND m.media_type = $2 AND f.place = $3::int`,
		book, mediaType, place)
}

var noFile = fault.New(fault.FileNotFound, "there is no such file")

// held is the condition that a file f of the library folder does not belong to a missing or deleted medium.
const held = `NOT EXISTS (SELECT FROM media_assets m WHERE m.job_id = f.job_id AND m.status <> 'available')`

// FilesBrought returns the first files that a download brought, in reading order.
func (s *Store) FilesBrought(ctx context.Context, job int64, limit int) ([]LibraryFile, error) {
	return core.List[LibraryFile](ctx, s.db, `SELECT place, path, size FROM library_files f WHERE job_id = $1 AND `+held+`
		ORDER BY place LIMIT $2`, job, limit)
}

// HasFile reports whether a path in the library folder is a file that a user may read: of an available medium, or of a
// download visible to the user.
func (s *Store) HasFile(ctx context.Context, user account.User, path string) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT FROM library_files f WHERE folded = $1 AND path = $2 AND `+held+` AND (
		EXISTS (SELECT FROM media_assets m WHERE m.job_id = f.job_id)
		OR EXISTS (SELECT FROM download_jobs d WHERE d.id = f.job_id AND (d.user_id = $3 OR $4))))`, core.Fold(path), path, user.ID, user.IsAdmin())
}

// MarkSent records that the deliveries of a download's files were created, as its owner requested.
func (s *Store) MarkSent(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET sent_at = coalesce(sent_at, now()), attention = '', updated_at_utc = now()
		WHERE id = $1`, id)
}

// Unsent returns the first downloads completed at least age ago whose files are still to be sent. Served by the index
// download_jobs_unsent.
func (s *Store) Unsent(ctx context.Context, age time.Duration, limit int) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT id FROM download_jobs WHERE send AND sent_at IS NULL AND attention = ''
		AND status = `+core.Literal(lifecycle.DownloadCompleted)+` AND completed_at_utc < now() - $1::interval ORDER BY id LIMIT $2`, age, limit)
}

// WishSent records that a download's files are to be sent to its owner on completion. Does nothing to an ended one.
func (s *Store) WishSent(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET send = true WHERE id = $1 AND status IN `+liveDownloads, id)
}

// MarkNotSent records why the deliveries of a download's files could not be created, with a notification to its owner,
// unless the download already needs a person's attention.
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
