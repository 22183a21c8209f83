package opds_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stagecoach/internal/store/account"
)

// mostBytes is the maximum size of a page: its limit, plus one entry.
const mostBytes = 256<<10 + 64<<10

// record adds a book with so many files with names of the maximum length, without the files themselves.
func (l *library) record(title, medium string, files int) int64 {
	l.t.Helper()
	book := l.shelve(title, strings.Repeat("&", 500), medium)
	l.exec(`INSERT INTO library_files SELECT 1000 + $1::bigint, n, path, path, n FROM generate_series(1, $2) n,
		LATERAL (SELECT $1::bigint || '/' || lpad(n::text, 4, '0') || repeat('😀', 61) || '"&.mp3' AS path) p`, book, files)
	return book
}

// TestAPageIsBounded fills the library with books of many files with long names: pages have fewer books, and all pages
// together have each file once.
func TestAPageIsBounded(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	const large, full = 30, 60
	want := 0
	for i := range large + full {
		files := 20
		if i%3 == 0 {
			files = 150
		}
		l.record(fmt.Sprintf("Book %02d %s", i, strings.Repeat("<", 490)), "audio", files)
		want += files
	}

	seen := map[string]int{}
	l.walk("/opds", func(page catalogue) {
		for _, book := range page.Entries {
			l.filesOf(book.Links, seen)
		}
	})
	if len(seen) != want {
		t.Errorf("%d files of %d are found", len(seen), want)
	}
	for href, times := range seen {
		if times != 1 {
			t.Fatalf("%s is found %d times", href, times)
		}
	}
}

// filesOf collects the files that an app finds through an entry's links.
func (l *library) filesOf(of links, seen map[string]int) {
	l.t.Helper()
	if len(of) > 20 {
		l.t.Fatalf("an entry has %d links", len(of))
	}
	if rest := of.to("subsection"); rest != "" {
		l.walk(rest, func(page catalogue) {
			for _, file := range page.Entries {
				l.filesOf(file.Links, seen)
			}
		})
	}
	for _, link := range of {
		if link.Rel == "http://opds-spec.org/acquisition" {
			seen[link.Href]++
		}
	}
}

// walk reads a feed page by page, and checks the size of each.
func (l *library) walk(path string, each func(catalogue)) {
	l.t.Helper()
	for next := path; next != ""; {
		if _, body := l.get(next); len(body) > mostBytes {
			l.t.Errorf("%s has %d bytes, at most %d are allowed", next, len(body), mostBytes)
		}
		page := l.feed(next)
		if len(page.Entries) == 0 {
			l.t.Errorf("%s is empty", next)
		}
		each(page)
		next = page.Links.to("next")
	}
}

// TestALargeBookHasAFeed reads the 600th file of a book with files of two media.
func TestALargeBookHasAFeed(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	book := l.shelve("Long", "Ann", "text", "long/1.epub", "long/2.epub")
	l.exec(`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) VALUES ($1, 'audio', 2000, 'available', '/d', 'm')`, book)
	l.exec(`INSERT INTO library_files SELECT 2000, n, 'spoken/' || n || '.mp3', 'spoken/' || n || '.mp3', 1 FROM generate_series(1, 600) n`)
	last := filepath.Join(l.dir, "spoken", "600.mp3")
	if err := os.MkdirAll(filepath.Dir(last), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(last, []byte("the end"), 0o644); err != nil {
		t.Fatal(err)
	}

	entry := l.feed("/opds").Entries[0]
	if len(entry.Links) != 1 || !strings.HasPrefix(entry.Links[0].Type, "application/atom+xml") {
		t.Fatalf("links %+v", entry.Links)
	}
	var titles []string
	var hrefs []string
	l.walk(entry.Links.to("subsection"), func(page catalogue) {
		if page.Title != "Long" {
			t.Errorf("the feed is called %q", page.Title)
		}
		for _, file := range page.Entries {
			titles, hrefs = append(titles, file.Title), append(hrefs, file.Links[0].Href)
			if file.Author != "Ann" || len(file.Links) != 1 || file.Links[0].Length == 0 {
				t.Errorf("file %+v", file)
			}
		}
	})
	if len(titles) != 602 || titles[0] != "1.mp3" || titles[599] != "600.mp3" || titles[601] != "2.epub" {
		t.Fatalf("%d files: %v", len(titles), titles)
	}
	if got, body := l.get(hrefs[599]); got.StatusCode != http.StatusOK || body != "the end" {
		t.Errorf("the 600th file: %s, %q", got.Status, body)
	}

	for path, want := range map[string]int{
		"/opds/books/99": http.StatusNotFound, "/opds/books/x": http.StatusNotFound,
		fmt.Sprintf("/opds/books/%d?after=audio", book):       http.StatusUnprocessableEntity,
		fmt.Sprintf("/opds/books/%d?after=video.1", book):     http.StatusUnprocessableEntity,
		fmt.Sprintf("/opds/books/%d?after=audio.99999", book): http.StatusUnprocessableEntity,
		fmt.Sprintf("/opds/books/%d/%%00/1/x", book):          http.StatusNotFound,
	} {
		if got, body := l.get(path); got.StatusCode != want {
			t.Errorf("%s: %s, %s", path, got.Status, body)
		}
	}
}

// TestPagesAtOnce requests pages without reading them: more requests of the same person, or of their agent, are
// refused, and those of other people are answered.
func TestPagesAtOnce(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	l.shelve("Wheels", "", "text", "wheels.pdf")
	agent := account.NewToken()
	_, err := l.store.Accounts.CreateAgent(t.Context(), l.ada.ID, "reader", account.Token{
		Name: "reader", Scopes: []account.Scope{account.ScopeRead},
	}, agent)
	if err != nil {
		t.Fatal(err)
	}

	unread := &unread{reached: make(chan struct{}), end: make(chan struct{})}
	var all sync.WaitGroup
	for _, token := range []string{l.token, agent, l.token, agent} {
		all.Go(func() { l.serve(unread.writer(), token) })
		<-unread.reached
	}
	for _, token := range []string{l.token, agent} {
		refused := httptest.NewRecorder()
		l.serve(refused, token)
		if refused.Code != http.StatusTooManyRequests || refused.Header().Get("Retry-After") == "" || !strings.Contains(refused.Body.String(), `"limit":"catalogue"`) {
			t.Errorf("a fifth page: %d, %s", refused.Code, refused.Body)
		}
	}

	bob, token := l.user(account.UserActive)
	answer := httptest.NewRecorder()
	if l.serve(answer, token); answer.Code != http.StatusOK {
		t.Errorf("user %d pays for another one: %d", bob.ID, answer.Code)
	}

	close(unread.end)
	all.Wait()
	again := httptest.NewRecorder()
	if l.serve(again, l.token); again.Code != http.StatusOK {
		t.Errorf("after they have ended: %d", again.Code)
	}
}

// serve answers a page request in this process.
func (l *library) serve(w http.ResponseWriter, token string) {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/opds", nil)
	r.SetBasicAuth("", token)
	l.api.ServeHTTP(w, r)
}

// unread are responses that nobody reads until the end.
type unread struct{ reached, end chan struct{} }

type unreadAnswer struct {
	*httptest.ResponseRecorder
	wait func()
}

func (u *unread) writer() http.ResponseWriter {
	return unreadAnswer{httptest.NewRecorder(), sync.OnceFunc(func() { u.reached <- struct{}{}; <-u.end })}
}

func (u unreadAnswer) Write(p []byte) (int, error) {
	u.wait()
	return u.ResponseRecorder.Write(p)
}

// TestFilesAtOnceOfAPerson has a person and their agents hold files open: the ninth is refused, whoever asks.
func TestFilesAtOnceOfAPerson(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	id := l.shelve("Long", "", "audio", "long.m4b")
	if err := os.Truncate(filepath.Join(l.dir, "long.m4b"), 64<<20); err != nil {
		t.Fatal(err)
	}
	agents := make([]string, 3)
	for i := range agents {
		agents[i] = account.NewToken()
		_, err := l.store.Accounts.CreateAgent(t.Context(), l.ada.ID, fmt.Sprint("reader ", i), account.Token{
			Name: "reader", Scopes: []account.Scope{account.ScopeRead},
		}, agents[i])
		if err != nil {
			t.Fatal(err)
		}
	}

	path := fmt.Sprintf("/opds/books/%d/audio/1/long.m4b", id)
	for i := range 8 {
		if held := l.hold(path, agents[i%2]); held.StatusCode != http.StatusOK {
			t.Fatalf("file %d: %s", i, held.Status)
		}
	}
	for _, token := range []string{agents[0], agents[2], l.token} {
		if held := l.hold(path, token); held.StatusCode != http.StatusTooManyRequests || held.Header.Get("Retry-After") == "" {
			t.Errorf("a ninth: %s", held.Status)
		}
	}
}

// hold requests a file, and leaves the response unread until the test ends.
func (l *library) hold(path, token string) *http.Response {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.url+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	r.SetBasicAuth("", token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// TestManyRangesAreNotServed answers a request for more than five ranges with the complete file.
func TestManyRangesAreNotServed(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	path := fmt.Sprintf("/opds/books/%d/text/1/x", l.shelve("Wheels", "", "text", "wheels.pdf"))
	for ranges, status := range map[int]int{1: http.StatusPartialContent, 5: http.StatusPartialContent, 6: http.StatusOK, 16_000: http.StatusOK} {
		got, body := l.get(path, "Range", "bytes=0-0"+strings.Repeat(",0-0", ranges-1))
		if got.StatusCode != status || status == http.StatusOK && body != "wheels.pdf" {
			t.Errorf("%d ranges: %s, %q", ranges, got.Status, body)
		}
	}
}
