package opds_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/api/opds"
	"stagecoach/api/parts"
	"stagecoach/api/rest"
	"stagecoach/api/rest/server"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/allowance"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/shelf"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// library is an API with a folder of books.
type library struct {
	t     *testing.T
	store *store.Store
	db    *pgx.Conn
	dir   string
	url   string
	api   http.Handler
	ada   account.User
	token string
}

func newLibrary(t *testing.T, perSecond int, folder string) *library {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	l := &library{t: t, store: s, db: testdb.Connect(t, url), dir: folder}
	api := rest.New(rest.Options{
		Config: server.Config{
			Store: s, Requests: allowance.NewUsers(perSecond), Guesses: allowance.NewGuesses(1000),
			PublicURL: "https://books.example",
		},
		Parts: parts.REST(all.Services{}, nil),
	})
	opds.Register(api, &downloads.Service{Store: s}, shelf.Folder{Dir: folder})
	serving := httptest.NewServer(api)
	t.Cleanup(serving.Close)

	l.url, l.api = serving.URL, api
	l.ada, l.token = l.user(account.UserActive)
	return l
}

func (l *library) user(status string) (account.User, string) {
	l.t.Helper()
	token := account.NewToken()
	user, err := l.store.Accounts.CreateUser(
		l.t.Context(), account.User{Name: "Ada", Role: account.RoleUser, Status: status}, token,
	)
	if err != nil {
		l.t.Fatal(err)
	}
	return user, token
}

// shelve adds a book with files, each of which contains its own path.
func (l *library) shelve(title, author, medium string, paths ...string) int64 {
	l.t.Helper()
	book, err := l.store.Downloads.CreateBook(l.t.Context(), title, author, core.Request{UserID: l.ada.ID})
	if err != nil {
		l.t.Fatal(err)
	}
	l.exec(`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) VALUES ($1, $2, 1000 + $1::bigint, 'available', '/d', 'm')`, book.ID, medium)
	for i, path := range paths {
		file := filepath.Join(l.dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(path), 0o644); err != nil {
			l.t.Fatal(err)
		}
		l.exec(`INSERT INTO library_files VALUES (1000 + $1::bigint, $2, $3, lower($3), $4)`, book.ID, i+1, path, len(path))
	}
	return book.ID
}

func (l *library) exec(sql string, args ...any) {
	l.t.Helper()
	if _, err := l.db.Exec(context.Background(), sql, args...); err != nil {
		l.t.Fatal(err)
	}
}

// get sends a request as a reading app does, and reads the complete response.
func (l *library) get(path string, headers ...string) (*http.Response, string) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.url+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	r.SetBasicAuth("anybody", l.token)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return answer, string(body)
}

// catalogue is a feed as an app reads it.
type catalogue struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"http://www.w3.org/2005/Atom id"`
	Title   string   `xml:"http://www.w3.org/2005/Atom title"`
	Updated string   `xml:"http://www.w3.org/2005/Atom updated"`
	Links   links    `xml:"http://www.w3.org/2005/Atom link"`
	Entries []struct {
		ID      string `xml:"http://www.w3.org/2005/Atom id"`
		Title   string `xml:"http://www.w3.org/2005/Atom title"`
		Author  string `xml:"http://www.w3.org/2005/Atom author>name"`
		Updated string `xml:"http://www.w3.org/2005/Atom updated"`
		Links   links  `xml:"http://www.w3.org/2005/Atom link"`
	} `xml:"http://www.w3.org/2005/Atom entry"`
}

type links []struct {
	Rel    string `xml:"rel,attr"`
	Href   string `xml:"href,attr"`
	Type   string `xml:"type,attr"`
	Title  string `xml:"title,attr"`
	Length int64  `xml:"length,attr"`
}

// to returns the URL of a relation; empty if there is none.
func (l links) to(rel string) string {
	for _, link := range l {
		if link.Rel == rel {
			return link.Href
		}
	}
	return ""
}

func (l *library) feed(path string) (c catalogue) {
	l.t.Helper()
	answer, body := l.get(path)
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/atom+xml;profile=opds-catalog;kind=") {
		l.t.Fatalf("%s: %s, %s: %s", path, answer.Status, answer.Header.Get("Content-Type"), body)
	}
	if err := xml.Unmarshal([]byte(body), &c); err != nil {
		l.t.Fatalf("%s: %v in %s", path, err, body)
	}
	if _, err := time.Parse(time.RFC3339, c.Updated); err != nil || c.ID == "" || c.Title == "" || c.Links.to("start") != "/opds" {
		l.t.Errorf("%s: %+v", path, c)
	}
	return c
}

// TestAnAppFindsABook walks from the root to a file, as an app does.
func TestAnAppFindsABook(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	odd, author := `<b>Wheels</b> & "Axles" ]]> 😀`, `A. <Cartwright> & Söhne`
	l.shelve(odd, author, "text", "Cartwright/Колёса & <оси>.epub", "Cartwright/page.html")
	l.shelve("Spoken", "", "audio", "Spoken/2.mp3", "Spoken/1.M4B")
	gone := l.shelve("Gone", "", "text", "gone.pdf")
	l.exec(`UPDATE media_assets SET status = 'deleted' WHERE book_id = $1`, gone)
	l.shelve("Nothing", "", "text")

	if slash := l.feed("/opds/"); len(slash.Entries) != 2 {
		t.Errorf("with a slash: %+v", slash)
	}
	list := l.feed("/opds")
	if list.Links.to("self") != "/opds" || len(list.Entries) != 2 || list.Entries[0].Title != "Spoken" || list.Entries[0].Author != "" || list.Links.to("next") != "" {
		t.Fatalf("list %+v", list)
	}
	if parts := list.Entries[0].Links; len(parts) != 2 || parts[0].Title != "2.mp3" || parts[0].Type != "audio/mpeg" || parts[1].Type != "audio/mp4" {
		t.Errorf("an audiobook's files: %+v", parts)
	}

	book := list.Entries[1]
	if book.Title != odd || book.Author != author || book.ID == "" || book.Updated == "" {
		t.Errorf("book %+v", book)
	}
	file := book.Links[0]
	if file.Rel != "http://opds-spec.org/acquisition" || file.Type != "application/epub+zip" || file.Length == 0 {
		t.Errorf("link %+v", file)
	}
	page, _ := l.get(book.Links[1].Href)
	policy, disposition := page.Header.Get("Content-Security-Policy"), page.Header.Get("Content-Disposition")
	if book.Links[1].Type != "text/html" || !strings.Contains(policy, "sandbox") || !strings.HasPrefix(disposition, "attachment;") {
		t.Errorf("a page is given as %s, %v", book.Links[1].Type, page.Header)
	}

	answer, body := l.get(file.Href)
	if answer.StatusCode != http.StatusOK || body != "Cartwright/Колёса & <оси>.epub" || answer.Header.Get("Content-Type") != file.Type {
		t.Errorf("file: %s, %v, %q", answer.Status, answer.Header, body)
	}
	disposition = answer.Header.Get("Content-Disposition")
	if !strings.HasPrefix(disposition, "attachment; filename*=utf-8''") || !strings.HasSuffix(disposition, ".epub") {
		t.Errorf("disposition %s", disposition)
	}

	_, body = l.get(list.Links.to("search"))
	var search struct {
		URL struct {
			Type     string `xml:"type,attr"`
			Template string `xml:"template,attr"`
		} `xml:"http://a9.com/-/spec/opensearch/1.1/ Url"`
	}
	if err := xml.Unmarshal([]byte(body), &search); err != nil || search.URL.Template != "/opds/search?q={searchTerms}" {
		t.Errorf("search %+v, %v", search, err)
	}
	for words, want := range map[string]int{
		"cartwright%20s%C3%B6": 1, "s%C3%B6hne%20wheels": 1, "axles+cartwright+WHEELS": 1, "%22wheels%22,+(axles)": 1, "cartwright+spoken": 0,
		"%3Cb%3Ewheels": 1, "CARTWRIGHT": 1, "%25": 0, "%5D%5D%3E": 1, "spoken": 1, "gone": 0, "so%CC%88hne": 1, "+": 2, "": 2,
		"wheel+cart": 1, "wheels+wheels": 1,
	} {
		if found := l.feed("/opds/search?q=" + words); len(found.Entries) != want {
			t.Errorf("%s finds %d books, want %d", words, len(found.Entries), want)
		}
	}
}

// TestPartsOfAFile resumes a file where an app stopped, unless the file has changed since.
func TestPartsOfAFile(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	id := l.shelve("Wheels", "", "text", "wheels.pdf")
	path := fmt.Sprintf("/opds/books/%d/text/1/any-name", id)
	whole, _ := l.get(path)
	tag := whole.Header.Get("ETag")
	if len(tag) != 66 || whole.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("headers %v", whole.Header)
	}

	for _, c := range []struct {
		headers []string
		status  int
		body    string
	}{
		{[]string{"Range", "bytes=2-4", "If-Range", tag}, http.StatusPartialContent, "eel"},
		{[]string{"Range", "bytes=-4"}, http.StatusPartialContent, ".pdf"},
		{[]string{"Range", "bytes=4-", "If-Range", `"older"`}, http.StatusOK, "wheels.pdf"},
		{[]string{"Range", "bytes=99-"}, http.StatusRequestedRangeNotSatisfiable, ""},
		{[]string{"If-None-Match", tag}, http.StatusNotModified, ""},
	} {
		got, body := l.get(path, c.headers...)
		if got.StatusCode != c.status || c.body != "" && body != c.body {
			t.Errorf("%v: %s, %q", c.headers, got.Status, body)
		}
	}

	if err := os.WriteFile(filepath.Join(l.dir, "wheels.pdf"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, body := l.get(path, "Range", "bytes=2-", "If-Range", tag); got.StatusCode != http.StatusOK || body != "changed" {
		t.Errorf("a changed file: %s, %q", got.Status, body)
	}

	if err := os.Remove(filepath.Join(l.dir, "wheels.pdf")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		path, fmt.Sprintf("/opds/books/%d/text/2/x", id), fmt.Sprintf("/opds/books/%d/audio/1/x", id), "/opds/books/99/text/1/x",
		"/opds/books/x/text/1/x", fmt.Sprintf("/opds/books/%d/text/1/..%%2fx", id),
	} {
		if got, body := l.get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s, %s", path, got.Status, body)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	for i := range 120 {
		l.shelve(fmt.Sprintf("Book %03d", i), "", "text", fmt.Sprintf("%03d.epub", i))
	}

	for _, first := range []string{"/opds", "/opds/search?q=book+0&before=1000"} {
		seen, sizes := map[string]bool{}, []int{}
		for next := first; next != ""; {
			page := l.feed(next)
			for _, book := range page.Entries {
				seen[book.ID] = true
			}
			sizes = append(sizes, len(page.Entries))
			next = page.Links.to("next")
		}
		want := map[string]string{"/opds": "[50 50 20]"}[first]
		if want == "" {
			want = "[50 50 11]"
		}
		if fmt.Sprint(sizes) != want || len(seen) != 120 && len(seen) != 111 {
			t.Errorf("%s: pages of %v, %d books", first, sizes, len(seen))
		}
	}

	for _, path := range []string{"/opds?before=x", "/opds?before=-1", "/opds/search?q=" + strings.Repeat("a", 501), "/opds/search?q=%00"} {
		if got, body := l.get(path); got.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %s, %s", path, got.Status, body)
		}
	}
}

func TestWhoReads(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 2, t.TempDir())
	l.shelve("Wheels", "", "text", "wheels.pdf")
	_, pending := l.user(account.UserPending)
	secrets := map[account.Scope]string{}
	for _, scope := range account.ScopesOf(account.RoleUser) {
		secrets[scope] = account.NewToken()
		reader, _ := l.user(account.UserActive) // with its own rate
		_, err := l.store.Accounts.CreateToken(
			t.Context(), account.Token{UserID: reader.ID, Name: "one", Scopes: []account.Scope{scope}}, secrets[scope],
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	for token, want := range map[string]int{
		"": http.StatusUnauthorized, "sc_wrong": http.StatusUnauthorized, pending: http.StatusForbidden, l.token: http.StatusOK,
		secrets[account.ScopeLibrary]: http.StatusOK, secrets[account.ScopeRead]: http.StatusOK,
		secrets[account.ScopeFiles]: http.StatusForbidden, secrets[lifecycle.DownloadScope]: http.StatusForbidden,
	} {
		l := *l
		l.token = token
		for _, path := range []string{"/opds", "/opds/books/1/text/1/wheels.pdf"} {
			got, body := l.get(path)
			challenge := got.Header.Get("WWW-Authenticate")
			if got.StatusCode != want || strings.HasPrefix(challenge, "Basic realm=") != (want == http.StatusUnauthorized) || strings.Contains(body, l.dir) {
				t.Errorf("%q at %s: %s, %q, %s", token, path, got.Status, challenge, body)
			}
		}
	}

	if got, _ := l.get("/opds", "Authorization", "Bearer "+l.token); got.StatusCode != http.StatusOK {
		t.Errorf("a token as elsewhere: %s", got.Status)
	}
	for range 500 { // more than a slow machine sends within the rate
		if got, _ := l.get("/opds"); got.StatusCode == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("the rate is not bounded")
}

func TestWithoutALibraryThereIsNone(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, "")
	for _, path := range []string{"/opds", "/opds/search", "/opds/search.xml"} {
		if got, _ := l.get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
}

// TestFilesAtOnce holds files open without reading them: the same user's further requests are refused until one is
// closed.
func TestFilesAtOnce(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	id := l.shelve("Long", "", "audio", "long.m4b")
	if err := os.Truncate(filepath.Join(l.dir, "long.m4b"), 64<<20); err != nil {
		t.Fatal(err)
	}

	path := fmt.Sprintf("/opds/books/%d/audio/1/long.m4b", id)
	var held []*http.Response
	for range 8 {
		answer := l.hold(path, l.token)
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status)
		}
		held = append(held, answer)
	}

	if got, _ := l.get(path); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("a ninth: %s", got.Status)
	}
	for _, answer := range held {
		_ = answer.Body.Close()
	}
	wait.Eventually(t, "closed files no longer count", func() bool {
		got, _ := l.get(path, "Range", "bytes=0-1")
		return got.StatusCode == http.StatusPartialContent
	})
}

// TestTypesOfTexts declares the charset of a text only if it is known.
func TestTypesOfTexts(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 0, t.TempDir())
	cut := strings.Repeat("a", 1<<20-1)
	for name, c := range map[string]struct{ content, want string }{
		"ascii.txt":     {"Wheels", "text/plain; charset=utf-8"},
		"utf8.TXT":      {"Колёса", "text/plain; charset=utf-8"},
		"mark.txt":      {"\ufeffКолёса", "text/plain; charset=utf-8"},
		"cut.txt":       {cut + "ёё", "text/plain; charset=utf-8"},
		"cut emoji.txt": {cut + "😀", "text/plain; charset=utf-8"},
		"empty.txt":     {"", "text/plain; charset=utf-8"},
		"1251.txt":      {"\xca\xee\xeb\xb8\xf1\xe0", "text/plain"},
		"late 1251.txt": {cut[9:] + "\xca\xee\xeb", "text/plain"},
		"ended.txt":     {"Колёс\xd0", "text/plain"},
		"utf16.txt":     {"\xff\xfeW\x00", "text/plain; charset=utf-16"},
		"utf16be.txt":   {"\xfe\xff\x00W", "text/plain; charset=utf-16"},
		"a.docx":        {"x", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		"a.odt":         {"x", "application/vnd.oasis.opendocument.text"},
		"a.azw":         {"x", "application/vnd.amazon.ebook"},
		"a.prc":         {"x", "application/x-mobipocket-ebook"},
		"a.kepub.epub":  {"x", "application/epub+zip"},
		"a.fb2.zip":     {"x", "application/x-zip-compressed-fb2"},
		"a.htm":         {"x", "text/html"},
		"a.exe":         {"x", "application/octet-stream"},
	} {
		id := l.shelve("Wheels", "", "text", name)
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		got, body := l.get(fmt.Sprintf("/opds/books/%d/text/1/x", id))
		if kind := got.Header.Get("Content-Type"); kind != c.want || body != c.content {
			t.Errorf("%s: %s with %s, want %s", name, got.Status, kind, c.want)
		}
		if link := l.feed("/opds").Entries[0].Links[0]; link.Type != strings.Split(c.want, ";")[0] {
			t.Errorf("%s: the link's type is %s", name, link.Type)
		}
	}
}
