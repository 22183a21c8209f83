package catalog_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/yandex"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// disk is an in-memory storage that sorts by name, like the real one.
type disk struct {
	mu      sync.Mutex
	items   map[string]yandex.Item
	latency time.Duration
	held    chan struct{} // closed when requests are answered; nil: at once
	fails   error
	calls   int
	busiest int // maximum number of concurrent requests
	busy    int
}

func newDisk(paths ...string) *disk {
	d := &disk{items: map[string]yandex.Item{"/": {Path: "/", Name: "disk", Folder: true}}}
	for _, p := range paths {
		d.put(p)
	}
	return d
}

// put adds a file, or a folder if the path ends in a slash, with the folders above it.
func (d *disk) put(p string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for full, folder := path.Clean(p), strings.HasSuffix(p, "/"); full != "/"; full, folder = path.Dir(full), true {
		item := yandex.Item{Path: full, Name: path.Base(full), Folder: folder, Modified: time.Unix(1_700_000_000, 0)}
		if !folder {
			item.Size, item.SHA256 = int64(len(full)), "sha of "+full
		}
		d.items[full] = item
	}
}

func (d *disk) remove(p string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for full := range d.items {
		if full == p || strings.HasPrefix(full, p+"/") {
			delete(d.items, full)
		}
	}
}

func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = err
}

func (d *disk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// hold keeps requests waiting until release.
func (d *disk) hold() (release func()) {
	held := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = held
	return sync.OnceFunc(func() { close(held) })
}

func (d *disk) begin() error {
	d.mu.Lock()
	d.calls++
	d.busy++
	d.busiest = max(d.busiest, d.busy)
	err, held := d.fails, d.held
	d.mu.Unlock()
	if held != nil {
		<-held
	}
	time.Sleep(d.latency)
	d.mu.Lock()
	d.busy--
	d.mu.Unlock()
	return err
}

func (d *disk) Stat(_ context.Context, p string) (yandex.Item, error) {
	if err := d.begin(); err != nil {
		return yandex.Item{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	item, ok := d.items[p]
	if !ok {
		return item, fault.New(fault.FileNotFound, "no such file or folder")
	}
	return item, nil
}

func (d *disk) List(_ context.Context, p string, limit, offset int) (yandex.Page, error) {
	if err := d.begin(); err != nil {
		return yandex.Page{}, err
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	if item, ok := d.items[p]; !ok || !item.Folder {
		return yandex.Page{}, fault.New(fault.FileNotFound, "no such file or folder")
	}

	var children []yandex.Item
	for full, item := range d.items {
		if full != "/" && path.Dir(full) == p {
			children = append(children, item)
		}
	}

	slices.SortFunc(
		children, func(a, b yandex.Item) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) },
	)
	page := yandex.Page{Total: len(children), Offset: offset}
	if offset < len(children) {
		page.Items = children[offset:min(offset+limit, len(children))]
	}

	return page, nil
}

func newCatalog(t *testing.T, d *disk, ttl time.Duration) (*catalog.Catalog, *store.Store) {
	t.Helper()
	s := testdb.New(t)
	c := catalog.New(catalog.Options{Store: s.Deliveries, Upstream: d, TTL: ttl})
	t.Cleanup(c.Close)
	return c, s
}

func names(files []delivery.File) []string {
	var all []string
	for _, file := range files {
		all = append(all, file.Name)
	}
	return all
}

func code(t *testing.T, err error, want fault.Code, field string) {
	t.Helper()
	f := fault.As(err)
	if f == nil || f.Code != want || f.Field != field {
		t.Fatalf("error is %v (%+v), want %s in field %q", err, f, want, field)
	}
}

// bigFolder has n entries; every hundredth is a folder.
func bigFolder(n int) *disk {
	d := newDisk()
	for i := range n {
		ending := ".txt"
		if i%100 == 50 {
			ending = "/"
		}
		d.put(fmt.Sprintf("/big/entry %05d%s", i, ending))
	}
	return d
}
