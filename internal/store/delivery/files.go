package delivery

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// File is an entry of the shared folder, as last listed.
type File struct {
	ID         int64     `db:"id"`
	Path       string    `db:"path"` // in the shared folder, "/" at the top
	Parent     string    `db:"parent"`
	Name       string    `db:"name"`
	IsFolder   bool      `db:"is_folder"`
	Size       int64     `db:"size"` // bytes
	SHA256     string    `db:"sha256"`
	ModifiedAt time.Time `db:"modified_at"`
	Place      int       `db:"place"` // among its folder's entries, in the storage's order by name
	Gone       bool      `db:"gone"`
}

const fileColumns = `id, path, parent, name, is_folder, size, sha256, modified_at, place, gone`

var noFile = fault.New(fault.FileNotFound, "there is no such file")

// FileByID returns an entry, even one that is gone.
func (s *Store) FileByID(ctx context.Context, id int64) (File, error) {
	return core.One[File](ctx, s.db, noFile, `SELECT `+fileColumns+` FROM files WHERE id = $1`, id)
}

// FileByPath returns an entry, even one that is gone.
func (s *Store) FileByPath(ctx context.Context, path string) (File, error) {
	return core.One[File](ctx, s.db, noFile, `SELECT `+fileColumns+` FROM files WHERE path = $1`, path)
}

// DeepestFolder returns the folder with the longest of these paths; FILE_NOT_FOUND if none exists.
func (s *Store) DeepestFolder(ctx context.Context, paths []string) (File, error) {
	return core.One[File](ctx, s.db, noFile, `SELECT `+fileColumns+` FROM files WHERE path = ANY ($1) AND is_folder AND NOT gone
		ORDER BY length(path) DESC LIMIT 1`, paths)
}

// SaveFiles records entries as listed by the storage and returns them with their ids, in the same order.
func (s *Store) SaveFiles(ctx context.Context, files []File) ([]File, error) {
	saved := make([]File, 0, len(files))
	err := s.db.InTx(ctx, func(tx pgx.Tx) error { return saveFiles(ctx, tx, files, &saved) })
	return saved, err
}

// ReplaceListing records a folder's complete listing: entries not among files are gone, with everything below them.
func (s *Store) ReplaceListing(ctx context.Context, folder string, files []File) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		saved := make([]File, 0, len(files))
		if err := saveFiles(ctx, tx, files, &saved); err != nil {
			return err
		}

		ids := make([]int64, len(saved))
		for i, file := range saved {
			ids[i] = file.ID
		}

		lost, err := core.Values[string](ctx, tx, `UPDATE files SET gone = true
			WHERE NOT gone AND parent = $1 AND path <> '/' AND id <> ALL ($2) RETURNING path`, folder, ids)
		if err != nil {
			return err
		}
		if err := dropBelow(ctx, tx, lost); err != nil {
			return err
		}

		_, err = tx.Exec(ctx, `INSERT INTO listings (path, listed_at) VALUES ($1, now())
			ON CONFLICT (path) DO UPDATE SET listed_at = now()`, folder)
		return err
	})
}

// DropFolder marks a folder and everything below it as gone.
func (s *Store) DropFolder(ctx context.Context, folder string) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE files SET gone = true WHERE path = $1`, folder); err != nil {
			return err
		}
		return dropBelow(ctx, tx, []string{folder})
	})
}

// dropBelow marks everything below these paths as gone and deletes their listing times.
func dropBelow(ctx context.Context, tx pgx.Tx, paths []string) error {
	if len(paths) == 0 {
		return nil
	}

	_, err := tx.Exec(ctx, `UPDATE files f SET gone = true FROM unnest($1::text[]) AS lost (path)
		WHERE NOT f.gone AND starts_with(f.path, lost.path || '/')`, paths)
	if err != nil {
		return err
	}

	_, err = tx.Exec(ctx, `DELETE FROM listings l USING unnest($1::text[]) AS lost (path)
		WHERE l.path = lost.path OR starts_with(l.path, lost.path || '/')`, paths)
	return err
}

// saveFiles writes entries in one statement per 1,000: a folder may contain 10,000.
func saveFiles(ctx context.Context, tx pgx.Tx, files []File, saved *[]File) error {
	const chunk = 1000
	for start := 0; start < len(files); start += chunk {
		part := files[start:min(start+chunk, len(files))]
		var paths, parents, names, folds, hashes []string
		var folders []bool
		var sizes []int64
		var times []time.Time
		var places []int

		for _, f := range part {
			paths, parents, hashes = append(paths, f.Path), append(parents, f.Parent), append(hashes, f.SHA256)
			names, folds = append(names, f.Name), append(folds, core.Fold(f.Name))
			folders, sizes, times = append(folders, f.IsFolder), append(sizes, f.Size), append(times, f.ModifiedAt)
			places = append(places, f.Place)
		}

		// Unchanged entries are not written, so that a refresh of 10,000 entries does not hold locks for long.
		_, err := tx.Exec(ctx, `INSERT INTO files (path, parent, name, is_folder, size, sha256, modified_at, place, folded)
			SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bool[], $5::bigint[], $6::text[], $7::timestamptz[], $8::int[], $9::text[])
				AS seen (path, parent, name, is_folder, size, sha256, modified_at, place, folded) ORDER BY path
			ON CONFLICT (path) DO UPDATE SET is_folder = excluded.is_folder, size = excluded.size, sha256 = excluded.sha256,
				modified_at = excluded.modified_at, place = excluded.place, gone = false
			WHERE (files.is_folder, files.size, files.sha256, files.modified_at, files.place, files.gone)
				IS DISTINCT FROM (excluded.is_folder, excluded.size, excluded.sha256, excluded.modified_at, excluded.place, false)`,
			paths, parents, names, folders, sizes, hashes, times, places, folds)
		if err != nil {
			return err
		}

		got, err := core.List[File](ctx, tx, `SELECT `+fileColumns+` FROM files JOIN unnest($1::text[]) WITH ORDINALITY AS seen (path, turn)
			USING (path) ORDER BY turn`, paths)
		if err != nil {
			return err
		}

		*saved = append(*saved, got...)
	}

	return nil
}

// ListedAt returns when a folder was last listed completely; zero: never.
func (s *Store) ListedAt(ctx context.Context, folder string) (time.Time, error) {
	return core.Value[time.Time](ctx, s.db, `SELECT coalesce((SELECT listed_at FROM listings
		WHERE path = $1), 'epoch')`, folder)
}

// MarkListed records that a folder, or another thing that is read as a whole, was read now.
func (s *Store) MarkListed(ctx context.Context, path string) error {
	return s.db.Do(ctx, `INSERT INTO listings (path, listed_at) VALUES ($1, now())
		ON CONFLICT (path) DO UPDATE SET listed_at = now()`, path)
}

// CountFiles returns a folder's number of entries in the record.
func (s *Store) CountFiles(ctx context.Context, folder string) (int, error) {
	return core.Value[int](ctx, s.db, `SELECT count(*) FROM files WHERE parent = $1 AND NOT gone AND path <> '/'`, folder)
}

// Listing returns a page of a folder from the record in the storage's order by name, folders first if foldersFirst.
func (s *Store) Listing(ctx context.Context, folder string, foldersFirst bool, limit, offset int) ([]File, error) {
	order := `place, id`
	if foldersFirst {
		order = `is_folder DESC, place, id`
	}
	return core.List[File](ctx, s.db, `SELECT `+fileColumns+` FROM files WHERE parent = $1 AND NOT gone AND path <> '/'
		ORDER BY `+order+` LIMIT $2 OFFSET $3`, folder, limit, offset)
}

// SearchFiles returns entries whose names contain the words, in any letter case. For frequent words it is served by the
// index files_named, which has the order; a search for rare words reads all names.
func (s *Store) SearchFiles(ctx context.Context, words string, limit, offset int) ([]File, error) {
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(core.Fold(words)) + "%"
	return core.Chosen[File](ctx, s.db, `SELECT `+fileColumns+` FROM files WHERE NOT gone AND path <> '/' AND folded LIKE $1
		AND starts_with(path, '/') -- a file of the library is found by its book
		ORDER BY is_folder DESC, folded, id LIMIT $2 OFFSET $3`, pattern, limit, offset)
}

// SentFile is content already on Telegram.
type SentFile struct {
	SHA256 string `db:"sha256"`
	Size   int64  `db:"size"`    // bytes
	FileID string `db:"file_id"` // Telegram's; empty: Telegram does not have it
	Name   string `db:"name"`    // under which it was sent
}

// SentFile returns the Telegram file_id of content delivered before, and the name under which it was sent.
func (s *Store) SentFile(ctx context.Context, sha256 string, size int64) (fileID, name string, err error) {
	err = s.db.QueryRow(ctx, `SELECT telegram_file_id, name FROM sent_files
		WHERE sha256 = $1 AND size = $2`, sha256, size).Scan(&fileID, &name)
	if err == pgx.ErrNoRows {
		return "", "", nil
	}
	return fileID, name, core.Unavailable(err)
}

// SaveSentFile records content that is now on Telegram.
func (s *Store) SaveSentFile(ctx context.Context, f SentFile) error {
	batch := &pgx.Batch{}
	queueSentFile(batch, f)
	return core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}

func queueSentFile(batch *pgx.Batch, f SentFile) {
	batch.Queue(`INSERT INTO sent_files (sha256, size, telegram_file_id, name) VALUES ($1, $2, $3, $4)
		ON CONFLICT (sha256, size) DO UPDATE SET telegram_file_id = $3, name = $4, updated_at = now()`, f.SHA256, f.Size, f.FileID, f.Name)
}

// ForgetSentFile deletes a file_id that Telegram rejects.
func (s *Store) ForgetSentFile(ctx context.Context, fileID string) error {
	return s.db.Do(ctx, `DELETE FROM sent_files WHERE telegram_file_id = $1`, fileID)
}
