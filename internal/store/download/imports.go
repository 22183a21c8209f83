package download

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// placeOfFile is the constraint that keeps two media from having one file.
const placeOfFile = "library_files_path_key"

// MayReplace says whether a job's medium would become that of its book: see replaces.
func (s *Store) MayReplace(ctx context.Context, job Download) (bool, error) {
	kept, err := core.Values[int64](ctx, s.db, `SELECT book_id FROM media_assets m WHERE book_id = $1 AND media_type = $2 AND NOT (`+
		replaces("$3", "$4")+`)`, job.BookID, job.MediaType, job.UserID, account.RoleAdmin)
	return len(kept) == 0, err
}

// PlacesTaken returns those of the paths in the library folder where files of other media lie.
func (s *Store) PlacesTaken(ctx context.Context, job Download, paths []string) ([]string, error) {
	return core.Values[string](ctx, s.db, `SELECT path FROM library_files WHERE path = ANY ($3) AND (book_id, media_type) <> ($1, $2)`,
		job.BookID, job.MediaType, paths)
}

// queueFiles records where the files of a medium lie that a download has just brought into the library folder, unless
// the book has kept another one.
func queueFiles(batch *pgx.Batch, d Download) {
	var paths []string
	var sizes []int64
	for _, file := range d.Brought {
		paths, sizes = append(paths, file.Path), append(sizes, file.Size)
	}

	const brought = `EXISTS (SELECT FROM media_assets m WHERE m.book_id = $1 AND m.media_type = $2 AND m.path = $3)`
	batch.Queue(`DELETE FROM library_files WHERE book_id = $1 AND media_type = $2 AND `+brought, d.BookID, d.MediaType, d.mediumPath())
	batch.Queue(`INSERT INTO library_files (book_id, media_type, place, path, size)
		SELECT $1, $2, place, path, size FROM unnest($4::text[], $5::bigint[]) WITH ORDINALITY AS file (path, size, place) WHERE `+brought,
		d.BookID, d.MediaType, d.mediumPath(), paths, sizes)
}

// mediumPath is where a completed download's medium lies: a file or folder of the library folder, else what qBittorrent
// has.
func (d Download) mediumPath() string {
	if len(d.Brought) > 0 {
		return d.Folder
	}
	return d.ContentPath
}
