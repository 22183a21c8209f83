package download

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// States of a book.
const (
	BookLibrary = "Library" // at least one of its media is available
	BookArchive = "Archive"
)

// Kinds of media that a book may have.
const (
	MediaText  = "text"
	MediaAudio = "audio"
)

// MediaTypes lists the kinds of media.
var MediaTypes = []string{MediaText, MediaAudio}

// States of a medium.
const (
	MediaAvailable = "available"
	MediaDeleted   = "deleted"
	MediaMissing   = "missing"
)

// Book is an entry of the library.
type Book struct {
	ID        int64        `db:"id"`
	Title     string       `db:"title"`
	Author    string       `db:"author"`
	State     string       `db:"state"`
	CreatorID int64        `db:"creator_id"`
	CreatedAt time.Time    `db:"created_at"`
	UpdatedAt time.Time    `db:"updated_at"`
	Media     []MediaAsset `db:"media"`
}

// MediaAsset is one medium of a book.
type MediaAsset struct {
	MediaType string `json:"media_type"`
	Status    string `json:"status"`
	Path      string `json:"path"` // relative: in the library folder; else in qBittorrent's file system
	SourceURL string `json:"source_url"`
	Files     int    `json:"files"`    // that the library folder has of it
	OwnerID   *int64 `json:"owner_id"` // whose download has fetched it; nil: unknown
}

// LinkFor returns the medium's link for its owner and administrators; nil for others.
func (m MediaAsset) LinkFor(viewer account.User) *string {
	if viewer.IsAdmin() || m.OwnerID != nil && *m.OwnerID == viewer.ID {
		return &m.SourceURL
	}
	return nil
}

const bookSelect = `SELECT id, title, author, state, creator_id, created_at, updated_at,
	(SELECT coalesce(jsonb_agg(jsonb_build_object('media_type', media_type, 'status', status, 'path', path, 'source_url', source_url, 'owner_id', owner_id,
		'files', (SELECT count(*) FROM library_files f WHERE f.book_id = m.book_id AND f.media_type = m.media_type))
		ORDER BY media_type), '[]') FROM media_assets m WHERE m.book_id = b.id) AS media
	FROM books b `

var noBook = fault.New(fault.BookNotFound, "there is no such book")

// CreateBook adds a book to the library. A repeated request returns the first book. QUOTA_EXCEEDED: the user has
// created too many.
func (s *Store) CreateBook(ctx context.Context, title, author string, r core.Request) (Book, error) {
	return core.AnswerOnce(ctx, s.db, r, func(tx pgx.Tx) (Book, error) {
		if err := s.db.Quotas.Of(bookQuota).Check(ctx, tx, r.UserID, 1); err != nil {
			return Book{}, err
		}

		id, err := core.Value[int64](ctx, tx, `INSERT INTO books (title, author, folded, creator_id) VALUES ($1, $2, $3, $4) RETURNING id`,
			title, author, core.Fold(title+" "+author), r.UserID)
		if err != nil {
			return Book{}, err
		}

		return core.One[Book](ctx, tx, noBook, bookSelect+`WHERE id = $1`, id)
	})
}

// BookByID returns a book.
func (s *Store) BookByID(ctx context.Context, id int64) (Book, error) {
	return core.One[Book](ctx, s.db, noBook, bookSelect+`WHERE id = $1`, id)
}

// BookFilter chooses books; zero fields choose all.
type BookFilter struct {
	Words string // in the title or the author's name, in any letter case
	State string
	// Shelved ones have a file in the library folder.
	Shelved bool
	Before  int64 // ids below this one
	Limit   int
}

// Books lists books, the newest first, by the primary key. A search for rare words reads the whole table: 12 ms with
// 100,000 books (measured 2026-11-23).
func (s *Store) Books(ctx context.Context, f BookFilter) ([]Book, error) {
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(core.Fold(f.Words)) + "%"
	return core.Chosen[Book](ctx, s.db, bookSelect+`WHERE folded LIKE $1 AND ($2 = '' OR state = $2) AND ($3::bigint = 0 OR id < $3)
		AND (NOT $5 OR EXISTS (`+libraryFiles+`f.book_id = b.id)) ORDER BY id DESC LIMIT $4`, pattern, f.State, f.Before, f.Limit, f.Shelved)
}

// mediaOfBook is the constraint that refuses a medium of a deleted book.
const mediaOfBook = "media_assets_book_id_fkey"

// queueMedia records the medium that a download has fetched, and the book's new state: the path is replaced, the source
// of an existing medium stays. A medium that is there and belongs to another user stays as it is, unless an
// administrator has fetched it again: nobody replaces what others read. Users and their agents are one owner.
func queueMedia(batch *pgx.Batch, d Download) {
	batch.Queue(`SELECT FROM books WHERE id = $1 FOR UPDATE`, d.BookID) // serializes two media of one book
	batch.Queue(`INSERT INTO media_assets AS m (book_id, media_type, status, path, source_url, owner_id) VALUES ($1, $2, 'available', $3, $4, $5)
		ON CONFLICT (book_id, media_type) DO UPDATE SET status = 'available', path = excluded.path, updated_at = now()
		WHERE `+replaces("$5", "$6"),
		d.BookID, d.MediaType, d.mediumPath(), d.SourceURL, d.UserID, account.RoleAdmin)
	queueFiles(batch, d)
	queueBookState(batch, d.BookID)
}

// replaces is the condition on a medium m under which a user's download replaces it; admin is the role of
// administrators.
func replaces(user, admin string) string {
	return `m.status <> 'available' OR m.owner_id IS NULL OR EXISTS (
		SELECT FROM users mine, users theirs WHERE mine.id = ` + user + ` AND theirs.id = m.owner_id
		AND (mine.role = ` + admin + ` OR coalesce(mine.owner_id, mine.id) = coalesce(theirs.owner_id, theirs.id)))`
}
