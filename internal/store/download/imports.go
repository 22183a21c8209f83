package download

import (
	"context"
	"path"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// placeOfFile is the constraint that keeps two downloads from sharing a file.
const placeOfFile = "library_files_folded_key"

// PlaceTaken reports whether files of other downloads are recorded where a job's are to go: at their paths, in the
// folder of several, or as a file in place of a folder. They count whether or not they still exist.
func (s *Store) PlaceTaken(ctx context.Context, job int64, place string, files []LibraryFile) (bool, error) {
	place = core.Fold(place)
	var at []string
	for _, file := range files {
		at = append(at, core.Fold(file.Path))
	}
	for folder := path.Dir(place); folder != "."; folder = path.Dir(folder) {
		at = append(at, folder)
	}
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT FROM library_files WHERE job_id <> $1 AND folded = ANY ($2))
		OR EXISTS (SELECT FROM library_files WHERE job_id <> $1 AND folded > $3 || '/' AND folded < $3 || '0') -- which follows the slash`,
		job, at, place)
}

// queueFiles records where the files are that a download has just put into the library folder.
func queueFiles(batch *pgx.Batch, d Download) {
	var paths, folded []string
	var sizes []int64
	for _, file := range d.Brought {
		paths, folded, sizes = append(paths, file.Path), append(folded, core.Fold(file.Path)), append(sizes, file.Size)
	}

	batch.Queue(`DELETE FROM library_files WHERE job_id = $1`, d.ID)
	batch.Queue(`INSERT INTO library_files (job_id, place, path, folded, size)
		SELECT $1, place, path, folded, size FROM unnest($2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS file (path, folded, size, place)`,
		d.ID, paths, folded, sizes)
}

// mediumPath is the location of a completed download's medium: a file or folder of the library folder, otherwise what
// qBittorrent has.
func (d Download) mediumPath() string {
	if len(d.Brought) > 0 {
		return d.Folder
	}
	return d.ContentPath
}
