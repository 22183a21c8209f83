// Package catalog lists the shared folder. PostgreSQL keeps what the storage has listed. A folder listed within the TTL
// is answered from there. Any other folder costs a request or two to the storage while the caller waits, and is read
// completely in the background. Until the TTL has passed, what a fresh listing lacks does not exist.
//
// In a folder that one request to the storage lists completely, folders come before files. A bigger folder keeps the
// storage's own order by name, on every page and from either source: its subfolders are unknown until it was read
// completely, and an order that changed between two pages would lose and repeat entries.
package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/yandex"
)

const (
	upstreamPage  = 1000             // entries per request: the storage's maximum
	answerTime    = 30 * time.Second // for the storage, while the caller waits
	refreshTime   = 5 * time.Minute  // for one complete folder, in the background
	crawlTime     = 30 * time.Minute // for the complete tree
	crawlEvery    = 5 * time.Minute
	crawlFolders  = 4 // folders read at a time
	crawlPatience = 400 * time.Millisecond
)

// Upstream is the storage.
type Upstream interface {
	List(ctx context.Context, path string, limit, offset int) (yandex.Page, error)
	Stat(ctx context.Context, path string) (yandex.Item, error)
}

// Store is the part of the record that a catalog uses.
type Store interface {
	FileByID(ctx context.Context, id int64) (delivery.File, error)
	FileByPath(ctx context.Context, path string) (delivery.File, error)
	DeepestFolder(ctx context.Context, paths []string) (delivery.File, error)
	SaveFiles(ctx context.Context, files []delivery.File) ([]delivery.File, error)
	SearchFiles(ctx context.Context, words string, limit, offset int) ([]delivery.File, error)

	Listing(ctx context.Context, folder string, foldersFirst bool, limit, offset int) ([]delivery.File, error)
	ListedAt(ctx context.Context, folder string) (time.Time, error)
	MarkListed(ctx context.Context, path string) error
	CountFiles(ctx context.Context, folder string) (int, error)
	ReplaceListing(ctx context.Context, folder string, files []delivery.File) error
	DropFolder(ctx context.Context, folder string) error
}

// Options configure a Catalog.
type Options struct {
	Store    Store
	Upstream Upstream
	TTL      time.Duration       // how long a listing is served without querying the storage; 0: always query
	Log      *slog.Logger        // default: none
	Observe  func(time.Duration) // called with the time that a caller waited for a folder; may be nil
}

// Catalog lists the shared folder. It is safe for concurrent use.
type Catalog struct {
	o      Options
	flight singleflight.Group // one request to the storage at a time per subject

	ctx    context.Context // of background work
	cancel context.CancelFunc
	mu     sync.Mutex // guards closed; no work starts after it is set
	closed bool
	work   sync.WaitGroup
}

// New makes a Catalog; it sends no request yet.
func New(o Options) *Catalog {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	return &Catalog{o: o, ctx: ctx, cancel: cancel}
}

// Close stops background work and waits for its end.
func (c *Catalog) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
}

// inBackground runs fn, unless the catalog is already closed.
func (c *Catalog) inBackground(fn func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.work.Go(func() { fn(c.ctx) })
	}
}

// Listing is a page of a folder.
type Listing struct {
	Folder delivery.File
	Files  []delivery.File
	Total  int  // entries in the complete folder
	Offset int  // entries before these
	Stale  bool // the storage is unavailable: this is its last known content
}

// Folder returns a page of the folder at a path, "/" for the top. FILE_NOT_FOUND: there is nothing at the path;
// VALIDATION_ERROR: it is a file, or the path is invalid.
func (c *Catalog) Folder(ctx context.Context, path string, limit, offset int) (Listing, error) {
	defer c.observe(time.Now())
	if err := checkPath(path); err != nil {
		return Listing{}, err
	}
	folder, err := c.folderAt(ctx, path)
	if err != nil {
		return Listing{}, err
	}
	return c.list(ctx, folder, limit, offset)
}

// FolderByID returns a page of a folder by its id in the record, 0 for the top.
func (c *Catalog) FolderByID(ctx context.Context, id int64, limit, offset int) (Listing, error) {
	if id == 0 {
		return c.Folder(ctx, "/", limit, offset)
	}
	defer c.observe(time.Now())

	folder, err := c.File(ctx, id)
	if err != nil {
		return Listing{}, err
	}
	if !folder.IsFolder {
		return Listing{}, notAFolder
	}

	return c.list(ctx, folder, limit, offset)
}

// File returns an entry from the record; FILE_NOT_FOUND if it is unknown or gone.
func (c *Catalog) File(ctx context.Context, id int64) (delivery.File, error) {
	file, err := c.o.Store.FileByID(ctx, id)
	if err == nil && file.Gone {
		return delivery.File{}, noFile
	}
	return file, err
}

func (c *Catalog) observe(began time.Time) {
	if c.o.Observe != nil {
		c.o.Observe(time.Since(began))
	}
}

var (
	noFile     = fault.New(fault.FileNotFound, "there is no such file or folder")
	noFolder   = noFile.WithField("path")
	notAFolder = fault.New(fault.Validation, "this is a file, not a folder").WithField("path")
)
