package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/delivery"
)

var unreachable = fault.New(fault.YandexUnavailable, "the connection to the file storage failed").Retry()

func TestFoldersStandFirstAndTheRecordAnswersWhileFresh(t *testing.T) {
	t.Parallel()
	d := newDisk("/b.txt", "/z/", "/a.txt", "/M/", "/C.txt")
	c, _ := newCatalog(t, d, time.Hour)

	for range 3 {
		listing, err := c.Folder(t.Context(), "/", 50, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := names(listing.Files), []string{"M", "z", "a.txt", "b.txt", "C.txt"}; !slices.Equal(got, want) {
			t.Fatalf("listed %v, want %v", got, want)
		}
		if listing.Total != 5 || listing.Stale || listing.Folder.Path != "/" || !listing.Folder.IsFolder {
			t.Fatalf("listing %+v", listing)
		}
	}

	if d.count() != 1 {
		t.Fatalf("the storage was asked %d times, want once", d.count())
	}
}

func TestEntriesThatVanishAreGoneWithAllBelowThem(t *testing.T) {
	t.Parallel()
	d := newDisk("/keep.txt", "/old/deep/film.mkv", "/drop.txt")
	c, s := newCatalog(t, d, time.Nanosecond)
	for _, path := range []string{"/", "/old", "/old/deep"} {
		if _, err := c.Folder(t.Context(), path, 50, 0); err != nil {
			t.Fatal(err)
		}
	}

	film, err := s.Deliveries.FileByPath(t.Context(), "/old/deep/film.mkv")
	if err != nil {
		t.Fatal(err)
	}

	d.remove("/old")
	d.remove("/drop.txt")
	listing, err := c.Folder(t.Context(), "/", 50, 0)
	if err != nil || !slices.Equal(names(listing.Files), []string{"keep.txt"}) || listing.Total != 1 {
		t.Fatalf("listing %+v, error %v", listing, err)
	}

	_, err = c.File(t.Context(), film.ID)
	code(t, err, fault.FileNotFound, "")
	_, err = c.Folder(t.Context(), "/old/deep", 50, 0)
	code(t, err, fault.FileNotFound, "path")
	if _, err := c.Folder(t.Context(), "/", 50, 0); err != nil {
		t.Fatal(err)
	}

	d.put("/old/deep/film.mkv")
	listing, err = c.Folder(t.Context(), "/old/deep", 50, 0)
	if err != nil || len(listing.Files) != 1 || listing.Files[0].ID != film.ID {
		t.Fatalf("what comes back keeps its id: %+v, error %v", listing, err)
	}
}

func TestAFolderThatVanishedWhileOpen(t *testing.T) {
	t.Parallel()
	d := newDisk("/a/b/c.txt")
	c, s := newCatalog(t, d, time.Nanosecond)
	listing, err := c.Folder(t.Context(), "/a/b", 50, 0)
	if err != nil {
		t.Fatal(err)
	}

	d.remove("/a")
	_, err = c.FolderByID(t.Context(), listing.Folder.ID, 50, 0)
	code(t, err, fault.FileNotFound, "path")
	if file, err := s.Deliveries.FileByID(t.Context(), listing.Files[0].ID); err != nil || !file.Gone {
		t.Fatalf("file %+v, error %v", file, err)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("я", 126) + `"'😀` // with the suffix below it has 255 bytes less some
	odd := []string{
		"/%2F%00/", `/"quoted" 'n' \back\/`, "/😀 emoji/", "/" + long + "/", "/ spaces /", "/a?b#c&d=e+f/", "/.../",
		"/..name/",
	}

	d := newDisk(append(odd, "/file.txt", "/folder/sub/")...)
	c, _ := newCatalog(t, d, time.Hour)

	for _, path := range odd {
		path = strings.TrimSuffix(path, "/")
		if _, err := c.Folder(t.Context(), path, 50, 0); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}

	for _, path := range []string{
		"", "folder", "/folder/", "//", "/folder//sub", "/folder/../folder", "/..", "/folder/.", "/\x00", "/\xff",
		"/" + strings.Repeat("a", 1024), "disk:/folder",
	} {
		_, err := c.Folder(t.Context(), path, 50, 0)
		code(t, err, fault.Validation, "path")
	}

	for _, path := range []string{"/nothing", "/folder/nothing", "/" + strings.Repeat("a", 1023)} {
		_, err := c.Folder(t.Context(), path, 50, 0)
		code(t, err, fault.FileNotFound, "path")
	}

	for range 2 { // first from the storage, then from the record
		_, err := c.Folder(t.Context(), "/file.txt", 50, 0)
		code(t, err, fault.Validation, "path")
		if _, err := c.Folder(t.Context(), "/", 50, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMadeUpPathsCostNothing requests nonexistent paths: the storage is queried once for each folder above them, even
// by many callers, and again when its listing is old.
func TestMadeUpPathsCostNothing(t *testing.T) {
	t.Parallel()
	d := newDisk("/folder/sub/file.txt", "/file.txt")
	c, _ := newCatalog(t, d, time.Hour)
	for i := range 60 {
		for _, path := range []string{"/none", "/none %d", "/none %d/below", "/folder/none %d", "/file.txt/none %d"} {
			_, err := c.Folder(t.Context(), strings.ReplaceAll(path, "%d", fmt.Sprint(i)), 50, 0)
			code(t, err, fault.FileNotFound, "path")
		}
		_, err := c.Folder(t.Context(), "/file.txt", 50, 0)
		code(t, err, fault.Validation, "path")
	}
	_, err := c.Folder(t.Context(), "/"+strings.Repeat("a/", 500)+"b", 50, 0)
	code(t, err, fault.FileNotFound, "path")
	if d.count() > 2 { // of the top and of /folder
		t.Errorf("the storage was asked %d times", d.count())
	}

	if listing, err := c.Folder(t.Context(), "/folder/sub", 50, 0); err != nil || len(listing.Files) != 1 {
		t.Errorf("a folder that is there: %+v, %v", listing, err)
	}

	hour, s := time.Hour, testdb.New(t)
	for _, ttl := range []time.Duration{hour, 0, time.Nanosecond} { // what is dropped in appears once the listing is old
		o := catalog.New(catalog.Options{Store: s.Deliveries, Upstream: d, TTL: ttl})
		t.Cleanup(o.Close)
		_, err := o.Folder(t.Context(), fmt.Sprint("/new/below ", ttl), 50, 0)
		code(t, err, fault.FileNotFound, "path")
		d.put(fmt.Sprint("/new/below ", ttl, "/file.txt"))
		_, err = o.Folder(t.Context(), fmt.Sprint("/new/below ", ttl), 50, 0)
		if shows := err == nil; shows != (ttl != hour) {
			t.Errorf("listings of %v: %v", ttl, err)
		}
	}
}

func TestFoldersByID(t *testing.T) {
	t.Parallel()
	c, _ := newCatalog(t, newDisk("/folder/file.txt"), time.Hour)
	root, err := c.FolderByID(t.Context(), 0, 50, 0)
	if err != nil || root.Folder.Path != "/" {
		t.Fatalf("top %+v, error %v", root, err)
	}

	folder, err := c.FolderByID(t.Context(), root.Files[0].ID, 50, 0)
	if err != nil || folder.Folder.Path != "/folder" || len(folder.Files) != 1 {
		t.Fatalf("folder %+v, error %v", folder, err)
	}
	if again, err := c.FolderByID(t.Context(), root.Folder.ID, 50, 0); err != nil || again.Total != 1 {
		t.Fatalf("top by its own id %+v, error %v", again, err)
	}

	_, err = c.FolderByID(t.Context(), folder.Files[0].ID, 50, 0)
	code(t, err, fault.Validation, "path")
	_, err = c.FolderByID(t.Context(), 1<<60, 50, 0)
	code(t, err, fault.FileNotFound, "")
}

func TestAnOldListingIsShownWhenTheStorageIsDown(t *testing.T) {
	t.Parallel()
	d := newDisk("/folder/file.txt")
	c, _ := newCatalog(t, d, time.Nanosecond)
	d.fail(unreachable)
	_, err := c.Folder(t.Context(), "/", 50, 0)
	code(t, err, fault.YandexUnavailable, "")
	d.fail(nil)
	if _, err := c.Folder(t.Context(), "/", 50, 0); err != nil {
		t.Fatal(err)
	}

	d.fail(unreachable)
	listing, err := c.Folder(t.Context(), "/", 50, 0)
	if err != nil || !listing.Stale || !slices.Equal(names(listing.Files), []string{"folder"}) {
		t.Fatalf("listing %+v, error %v", listing, err)
	}

	_, err = c.Folder(t.Context(), "/folder", 50, 0)
	code(t, err, fault.YandexUnavailable, "")
	_, err = c.Folder(t.Context(), "/unknown", 50, 0)
	code(t, err, fault.YandexUnavailable, "")
}

func TestLargeFolderCostsOneRequest(t *testing.T) {
	t.Parallel()
	const entries = 10_000
	d := bigFolder(entries)
	d.latency = 200 * time.Millisecond
	c, s := newCatalog(t, d, time.Hour)
	if _, err := c.Folder(t.Context(), "/", 1, 0); err != nil { // the folder itself is now known
		t.Fatal(err)
	}

	began := time.Now()
	listing, err := c.Folder(t.Context(), "/big", 200, 0)
	took := time.Since(began)
	if err != nil || listing.Total != entries || len(listing.Files) != 200 {
		t.Fatalf("%d of %d, error %v", len(listing.Files), listing.Total, err)
	}

	t.Logf("the first page of %d took %v", entries, took)
	seen := map[int64]bool{}
	var order []string
	for { // the record takes over at some point
		for _, file := range listing.Files {
			if file.ID == 0 || seen[file.ID] {
				t.Fatalf("%q comes twice, or has no id", file.Path)
			}
			seen[file.ID] = true
			order = append(order, file.Name)
		}

		next := listing.Offset + len(listing.Files)
		if next >= listing.Total {
			break
		}
		if listing, err = c.Folder(t.Context(), "/big", 200, next); err != nil {
			t.Fatal(err)
		}
	}

	if len(seen) != entries || !slices.IsSorted(order) {
		t.Fatalf("saw %d entries, in order: %v", len(seen), slices.IsSorted(order))
	}

	wait.Eventually(t, "the whole folder is recorded", func() bool {
		at, err := s.Deliveries.ListedAt(t.Context(), "/big")
		return err == nil && at.Unix() > 0
	})
	calls := d.count()
	var times []time.Duration

	for i := range 40 {
		began := time.Now()
		if listing, err = c.Folder(t.Context(), "/big", 50, i*200); err != nil || len(listing.Files) != 50 {
			t.Fatal(err)
		}
		times = append(times, time.Since(began))
	}

	slices.Sort(times)
	t.Logf("from the record: p50 %v, p95 %v", times[20], times[38])
	if d.count() != calls {
		t.Error("a fresh folder asked the storage")
	}
}

func TestStaleLargeFolderFetchesOnePage(t *testing.T) {
	t.Parallel()
	d := bigFolder(2500)
	s := testdb.New(t)
	fresh := catalog.New(catalog.Options{Store: s.Deliveries, Upstream: d, TTL: time.Hour})
	defer fresh.Close()

	if _, err := fresh.Folder(t.Context(), "/big", 50, 0); err != nil {
		t.Fatal(err)
	}

	wait.Eventually(t, "the whole folder is recorded", func() bool {
		at, err := s.Deliveries.ListedAt(t.Context(), "/big")
		return err == nil && at.Unix() > 0
	})
	old := catalog.New(catalog.Options{Store: s.Deliveries, Upstream: d, TTL: time.Nanosecond})
	defer old.Close()

	d.put("/big/entry 00000 new.txt")
	listing, err := old.Folder(t.Context(), "/big", 3, 1)
	if err != nil || listing.Total != 2501 || !slices.Equal(names(listing.Files), []string{"entry 00000.txt", "entry 00001.txt", "entry 00002.txt"}) {
		t.Fatalf("listing %+v, error %v", listing, err)
	}

	d.fail(unreachable)
	listing, err = old.Folder(t.Context(), "/big", 3, 2400)
	if err != nil || !listing.Stale || len(listing.Files) != 3 {
		t.Fatalf("listing %+v, error %v", listing, err)
	}
}

func TestManyReadersAskOnce(t *testing.T) {
	t.Parallel()
	d := newDisk("/a.txt")
	d.latency = 200 * time.Millisecond
	c, _ := newCatalog(t, d, time.Hour)
	var wg sync.WaitGroup
	errs := make(chan error, 30)

	for range 30 {
		wg.Go(func() {
			listing, err := c.Folder(t.Context(), "/", 50, 0)
			if err == nil && len(listing.Files) != 1 {
				err = errors.New("the file is missing")
			}
			errs <- err
		})
	}

	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}

	if d.count() != 1 {
		t.Errorf("the storage was asked %d times, want once", d.count())
	}
}

// TestAFolderThatWasJustListedIsNotListedAgain lets readers see an old listing, and go on after another reader has
// listed the folder: they ask the storage for nothing, or for the page that they want of a big folder.
func TestAFolderThatWasJustListedIsNotListedAgain(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, c := range map[string]struct {
		entries int
		old     time.Time // what the reader saw
		asks    int
	}{
		"small":         {entries: 3},
		"big":           {entries: 2500},
		"big and known": {entries: 2500, old: time.Now().Add(-2 * hour), asks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := bigFolder(c.entries)
			first, s := newCatalog(t, d, hour)
			if _, err := first.Folder(t.Context(), "/big", 50, 0); err != nil {
				t.Fatal(err)
			}
			first.Settle()

			late := catalog.New(catalog.Options{
				Store: &lateStore{Store: s.Deliveries, old: c.old}, Upstream: d, TTL: hour,
			})
			t.Cleanup(late.Close)
			calls := d.count()
			listing, err := late.Folder(t.Context(), "/big", 2, 1)
			late.Settle()
			if err != nil || listing.Total != c.entries || !slices.Equal(names(listing.Files), []string{"entry 00001.txt", "entry 00002.txt"}) {
				t.Errorf("listing %+v, error %v", listing, err)
			}
			if asks := d.count() - calls; asks != c.asks {
				t.Errorf("the storage was asked %d times, want %d", asks, c.asks)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	d := newDisk("/Films/Alien 1979.mkv", "/Films/100% legal.mkv", "/books/under_score.txt", "/books/Ёлка.txt", "/Alien/")
	for i := range 40 {
		d.put(fmt.Sprintf("/tree/branch %d/leaf %d.txt", i, i))
	}

	c, _ := newCatalog(t, d, time.Hour)
	wait.Eventually(t, "the tree is indexed", func() bool {
		_, indexing, err := c.Search(t.Context(), "anything", 50, 0)
		return err == nil && !indexing
	})

	for words, want := range map[string][]string{
		"alien": {"Alien", "Alien 1979.mkv"}, " 100% ": {"100% legal.mkv"}, "r_s": {"under_score.txt"}, "ёЛКА": {"Ёлка.txt"},
		"leaf 7": {"leaf 7.txt"}, "%": {"100% legal.mkv"}, "disk": nil,
	} {
		files, _, err := c.Search(t.Context(), words, 50, 0)
		if err != nil || !slices.Equal(names(files), want) {
			t.Errorf("%q found %v, error %v, want %v", words, names(files), err, want)
		}
	}

	for _, words := range []string{"", "  ", "\x00", "\xff", strings.Repeat("a", 256)} {
		_, _, err := c.Search(t.Context(), words, 50, 0)
		code(t, err, fault.Validation, "q")
	}

	if d.busiest > 4 {
		t.Errorf("%d requests at a time", d.busiest)
	}

	calls := d.count()
	if _, _, err := c.Search(t.Context(), "alien", 50, 0); err != nil || d.count() != calls {
		t.Errorf("a second search read the tree again, error %v", err)
	}
}

// TestATreeThatWasJustReadIsNotReadAgain lets a search begin while the tree is read for the first time, and continue
// afterwards: it reads nothing.
func TestATreeThatWasJustReadIsNotReadAgain(t *testing.T) {
	t.Parallel()
	d := newDisk("/books/a.txt")
	c, s := newCatalog(t, d, time.Hour)
	wait.Eventually(t, "the tree is indexed", func() bool {
		_, indexing, err := c.Search(t.Context(), "anything", 50, 0)
		return err == nil && !indexing
	})

	late := catalog.New(catalog.Options{Store: &lateStore{Store: s.Deliveries}, Upstream: d, TTL: time.Hour})
	t.Cleanup(late.Close)
	calls := d.count()
	wait.Eventually(t, "the search knows that the tree is indexed", func() bool {
		_, indexing, err := late.Search(t.Context(), "anything", 50, 0)
		return err == nil && !indexing
	})
	if d.count() != calls {
		t.Errorf("the storage was asked %d times", d.count()-calls)
	}
}

// lateStore is a record whose first answer predates the last reading.
type lateStore struct {
	*delivery.Store
	old   time.Time
	asked atomic.Bool
}

func (s *lateStore) ListedAt(ctx context.Context, path string) (time.Time, error) {
	if !s.asked.Swap(true) {
		return s.old, nil
	}
	return s.Store.ListedAt(ctx, path)
}

func TestASlowFirstSearchSaysSo(t *testing.T) {
	t.Parallel()
	d := newDisk("/a/b/c/d/e/f/needle.txt")
	c, _ := newCatalog(t, d, time.Hour)
	read := d.hold()
	t.Cleanup(read)
	files, indexing, err := c.Search(t.Context(), "needle", 50, 0)
	if err != nil || !indexing || len(files) != 0 {
		t.Fatalf("found %v, indexing %v, error %v", names(files), indexing, err)
	}

	read()
	wait.Eventually(t, "the needle is found", func() bool {
		files, indexing, err = c.Search(t.Context(), "needle", 50, 0)
		return err == nil && !indexing && len(files) == 1
	})
}

func TestCloseEndsWorkInTheBackground(t *testing.T) {
	t.Parallel()
	d := bigFolder(3000)
	d.latency = 50 * time.Millisecond
	c, _ := newCatalog(t, d, time.Hour)
	if _, err := c.Folder(t.Context(), "/big", 50, 0); err != nil {
		t.Fatal(err)
	}

	c.Close()
	calls := d.count()
	time.Sleep(150 * time.Millisecond)
	if d.count() != calls {
		t.Error("something still runs")
	}
}
