package yandex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/internal/fault"
)

const secret = "s3cr3t" // part of every link, token and body below: no error may show it

// tokensFunc is a Tokens made from a function.
type tokensFunc func(refused string) (string, error)

func (f tokensFunc) AccessToken(_ context.Context, refused string) (string, error) { return f(refused) }

func fixed(string) (string, error) { return "token-" + secret, nil }

// disk is an upstream whose API and download link a test answers itself.
type disk struct {
	*httptest.Server
	mu    sync.Mutex
	calls []*http.Request
}

func newDisk(t *testing.T, api, file http.HandlerFunc) *disk {
	t.Helper()
	d := &disk{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/disk/resources", func(w http.ResponseWriter, r *http.Request) { api(w, r) })
	mux.HandleFunc("GET /v1/disk/resources/download", func(w http.ResponseWriter, r *http.Request) {
		if file == nil {
			api(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"href":%q,"method":"GET","templated":false}`, d.URL+"/file?sign="+secret)
	})

	mux.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) { file(w, r) })
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.calls = append(d.calls, r)
		d.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))

	t.Cleanup(func() { d.CloseClientConnections(); d.Close() })
	return d
}

func (d *disk) client() *Client {
	return New(Options{APIURL: d.URL, Root: "disk:/Shared", Tokens: tokensFunc(fixed), CallTimeout: 30 * time.Second})
}

func (d *disk) seen() []*http.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

func answer(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

var operations = map[string]func(context.Context, *Client) error{
	"list": func(ctx context.Context, c *Client) error { _, err := c.List(ctx, "/"+secret, 10, 0); return err },
	"stat": func(ctx context.Context, c *Client) error { _, err := c.Stat(ctx, "/"+secret); return err },
	"open": func(ctx context.Context, c *Client) error {
		d, err := c.Open(ctx, "/"+secret, 0)
		if err != nil {
			return err
		}
		defer func() { _ = d.Body.Close() }()
		_, err = io.Copy(io.Discard, d.Body)
		return err
	},
}

// wantFault checks an error's code, and that neither it nor anything behind it reveals private data.
func wantFault(t *testing.T, err error, code fault.Code, retryable bool) fault.Error {
	t.Helper()
	f := fault.As(err)
	if f == nil || f.Code != code || f.Retryable != retryable {
		t.Fatalf("error = %v (%+v), want %s, retryable %t", err, f, code, retryable)
	}
	if strings.Contains(strings.ToLower(f.Error()), "yandex") {
		t.Errorf("the text %q names the storage", f.Error())
	}

	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, text := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e)} {
			if strings.Contains(text, secret) || strings.Contains(text, "://") {
				t.Errorf("the error shows something private: %s", text)
			}
		}
	}

	return *f
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		status    int
		code      fault.Code
		retryable bool
		calls     int
	}{
		{400, fault.YandexProtocol, false, 1},
		{401, fault.YandexUnauthorized, false, 2},
		{403, fault.YandexUnauthorized, false, 2},
		{404, fault.FileNotFound, false, 1},
		{409, fault.YandexProtocol, false, 1},
		{423, fault.YandexLocked, true, 1},
		{429, fault.YandexUnavailable, true, 1},
		{500, fault.YandexUnavailable, true, 1},
		{502, fault.YandexUnavailable, true, 1},
		{503, fault.YandexUnavailable, true, 1},
		{204, fault.YandexProtocol, false, 1},
	}

	for _, c := range cases {
		for op, call := range operations {
			t.Run(fmt.Sprintf("%d %s", c.status, op), func(t *testing.T) {
				t.Parallel()
				d := newDisk(t, answer(c.status, `{"error":"SomeError","description":"disk:/`+secret+`"}`), nil)
				f := wantFault(t, call(t.Context(), d.client()), c.code, c.retryable)
				if c.retryable && f.RetryAfter != 7*time.Second {
					t.Errorf("RetryAfter = %v", f.RetryAfter)
				}
				if n := len(d.seen()); n != c.calls {
					t.Errorf("%d calls, want %d", n, c.calls)
				}
				if c.status != 204 && !strings.Contains(f.Cause.Error(), "SomeError") {
					t.Errorf("cause = %v", f.Cause)
				}
			})
		}
	}
}

// TestDownloadLimit distinguishes a file downloaded too often today from a storage that asks to slow down: retrying
// within minutes is useless.
func TestDownloadLimit(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusForbidden, http.StatusServiceUnavailable} {
		for _, name := range []string{"DiskResourceDownloadLimitExceededError", "DownloadLimitExceededError"} {
			d := newDisk(t, answer(status, `{"error":"`+name+`","description":"disk:/`+secret+`"}`), nil)
			_, err := d.client().Open(t.Context(), "/book.pdf", 0)
			wantFault(t, err, fault.YandexLimit, false)
			if n := len(d.seen()); n != 1 {
				t.Errorf("%d: %d calls", status, n)
			}
		}
	}
}

func TestLinkStatuses(t *testing.T) {
	t.Parallel()
	cases := map[int]fault.Code{
		401: fault.YandexUnavailable, 403: fault.YandexUnavailable, 404: fault.YandexUnavailable,
		410: fault.YandexUnavailable,
		423: fault.YandexLocked, 429: fault.YandexUnavailable, 500: fault.YandexUnavailable, 418: fault.YandexProtocol,
		206: fault.YandexProtocol,
	}

	for status, code := range cases {
		d := newDisk(t, nil, answer(status, secret))
		wantFault(t, operations["open"](t.Context(), d.client()), code, code != fault.YandexProtocol)
		if n := len(d.seen()); n != 2 {
			t.Errorf("%d: %d calls, want one for the link and one for the file", status, n)
		}
	}
}

func TestListAndStat(t *testing.T) {
	t.Parallel()
	const file = `{"name":"a.mkv","type":"file","size":5368709120,"md5":"m","sha256":"s","resource_id":"1:2","revision":7,` +
		`"mime_type":"video/x-matroska","modified":"2024-05-06T07:08:09+03:00"}`
	want := Item{
		Path: "/films/a.mkv", Name: "a.mkv", Size: 5368709120, SHA256: "s",
		Modified: time.Date(2024, 5, 6, 4, 8, 9, 0, time.UTC),
	}

	d := newDisk(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("path") {
		case "disk:/Shared/films":
			_, _ = io.WriteString(w, `{"type":"dir","_embedded":{"total":40,"items":[{"name":"old","type":"dir"},`+file+`]}}`)
		case "disk:/Shared/films/a.mkv":
			_, _ = io.WriteString(w, file)
		case "disk:/Shared":
			_, _ = io.WriteString(w, `{"type":"dir","_embedded":{"total":1,"items":[{"name":"films","type":"dir"}]}}`)
		}
	}, nil)

	c := d.client()

	page, err := c.List(t.Context(), "/films", 2, 10)
	if err != nil || page.Total != 40 || page.Offset != 10 || len(page.Items) != 2 {
		t.Fatalf("List = %+v, %v", page, err)
	}
	if folder := page.Items[0]; !folder.Folder || folder.Path != "/films/old" {
		t.Errorf("folder = %+v", folder)
	}

	stat, err := c.Stat(t.Context(), "/films/a.mkv")
	if err != nil {
		t.Fatal(err)
	}

	for _, got := range []Item{page.Items[1], stat} {
		got.Modified = got.Modified.UTC()
		if got != want {
			t.Errorf("item = %+v\nwant   %+v", got, want)
		}
	}

	if page, err = c.List(t.Context(), "/", 0, -1); err != nil || page.Items[0].Path != "/films" {
		t.Errorf("root = %+v, %v", page, err)
	}

	_, err = c.List(t.Context(), "/films/a.mkv", 10, 0)
	wantFault(t, err, fault.FileNotFound, false)

	first, last := d.seen()[0], d.seen()[2]
	if q := first.URL.Query(); q.Get("limit") != "2" || q.Get("offset") != "10" || q.Get("sort") != "name" ||
		!strings.Contains(q.Get("fields"), "_embedded.items.modified") {
		t.Errorf("query = %v", q)
	}
	if q := last.URL.Query(); q.Get("limit") != "1000" || q.Get("offset") != "0" {
		t.Errorf("query = %v", q)
	}
	if got := first.Header.Get("Authorization"); got != "OAuth token-"+secret {
		t.Errorf("Authorization = %q", got)
	}
}

// bigPage is the answer for 1000 files with names of typical length.
func bigPage() string {
	items := make([]string, maxPage)
	for i := range items {
		items[i] = fmt.Sprintf(`{"name":"A film with a rather long name, part %04d.mkv","type":"file","size":%d,"md5":"%032x",`+
			`"sha256":"%064x","resource_id":"12345:%064x","revision":%d,"mime_type":"video/x-matroska",`+
			`"modified":"2024-05-06T07:08:09+03:00"}`, i, i<<20, i, i, i, i)
	}
	return `{"type":"dir","_embedded":{"total":10000,"items":[` + strings.Join(items, ",") + `]}}`
}

func TestBigFolder(t *testing.T) {
	t.Parallel()
	d := newDisk(t, answer(200, bigPage()), nil)
	c := d.client()
	for offset := 0; offset < 10_000; offset += maxPage {
		page, err := c.List(t.Context(), "/", maxPage, offset)
		if err != nil || len(page.Items) != maxPage {
			t.Fatalf("%d items, %v", len(page.Items), err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	server := httptest.NewServer(answer(200, bigPage()))
	defer server.Close()
	c := New(Options{APIURL: server.URL, Root: "disk:/", Tokens: tokensFunc(fixed)})
	for b.Loop() {
		if _, err := c.List(b.Context(), "/", maxPage, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		d := newDisk(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "OAuth new" {
				w.WriteHeader(status)
				return
			}
			_, _ = io.WriteString(w, `{"type":"file","name":"a"}`)
		}, nil)

		var asked []string
		c := New(Options{APIURL: d.URL, Root: "/Shared", Tokens: tokensFunc(func(refused string) (string, error) {
			asked = append(asked, refused)
			if refused == "old" {
				return "new", nil
			}
			return "old", nil
		})})
		if _, err := c.Stat(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(asked, []string{"", "old"}) {
			t.Errorf("asked for tokens with %q", asked)
		}
		if got := d.seen()[1].FormValue("path"); got != "disk:/Shared/a" {
			t.Errorf("path = %q", got)
		}
	}

	d := newDisk(t, answer(200, `{}`), nil)
	c := d.client()
	c.o.Tokens = tokensFunc(func(string) (string, error) { return "", fault.New(fault.YandexUnauthorized, "refused") })
	_, err := c.Stat(t.Context(), "/a")
	wantFault(t, err, fault.YandexUnauthorized, false)
	if len(d.seen()) != 0 {
		t.Error("the API was called without a token")
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	const content = "0123456789"
	ranged := func(status int, contentRange, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if contentRange != "" {
				w.Header().Set("Content-Range", contentRange)
			}
			w.Header().Set("ETag", "tag")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}

	cases := map[string]struct {
		offset   int64
		file     http.HandlerFunc
		text     string
		size     int64
		noResume bool
	}{
		"from the start":       {0, ranged(200, "", content), content, 10, false},
		"empty file":           {0, ranged(200, "", ""), "", 0, false},
		"negative offset":      {-4, ranged(200, "", content), content, 10, false},
		"resumed":              {4, ranged(206, "bytes 4-9/10", content[4:]), content[4:], 10, false},
		"resumed, size hidden": {4, ranged(206, "bytes 4-9/*", content[4:]), content[4:], -1, false},
		"range ignored":        {4, ranged(200, "", content), "", 0, true},
		"another start":        {4, ranged(206, "bytes 3-9/10", content[3:]), "", 0, true},
		"an earlier end":       {4, ranged(206, "bytes 4-8/10", content[4:9]), "", 0, true},
		"no Content-Range":     {4, ranged(206, "", content[4:]), "", 0, true},
		"broken Content-Range": {4, ranged(206, "bytes 4-9/ten", content[4:]), "", 0, true},
		"other unit":           {4, ranged(206, "lines 4-9/10", content[4:]), "", 0, true},
		"file is shorter now":  {40, ranged(416, "bytes */10", ""), "", 0, true},
	}

	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t, nil, c.file)
			download, err := d.client().Open(t.Context(), "/a", c.offset)
			if c.noResume {
				wantFault(t, err, fault.YandexProtocol, false)
				if !errors.Is(err, ErrNoResume) {
					t.Errorf("cause = %v, want ErrNoResume", errors.Unwrap(err))
				}
				return
			}

			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = download.Body.Close() }()

			text, err := io.ReadAll(download.Body)
			if err != nil || string(text) != c.text {
				t.Errorf("text = %q, %v", text, err)
			}
			if download.Size != c.size {
				t.Errorf("download = %+v", download)
			}

			request := d.seen()[1]
			if h := request.Header; h.Get("Authorization") != "" || h.Get("Accept-Encoding") != "identity" {
				t.Errorf("headers to the link = %v", h)
			}
			if want := map[bool]string{true: "bytes=4-"}[c.offset > 0]; request.Header.Get("Range") != want {
				t.Errorf("Range = %q", request.Header.Get("Range"))
			}
		})
	}
}

func TestOpenAsksForANewLinkEachTime(t *testing.T) {
	t.Parallel()
	d := newDisk(t, nil, answer(200, "x"))
	c := d.client()
	for range 3 {
		if err := operations["open"](t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}

	if n := len(d.seen()); n != 6 {
		t.Errorf("%d requests, want 3 links and 3 files", n)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	hops := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			i, _ := strconv.Atoi(r.URL.Query().Get("hop"))
			if i < n {
				http.Redirect(w, r, fmt.Sprintf("/file?sign=%s&hop=%d", secret, i+1), http.StatusFound)
				return
			}
			if r.Header.Get("Range") != "bytes=4-" {
				w.WriteHeader(http.StatusTeapot)
				return
			}

			w.Header().Set("Content-Range", "bytes 4-9/10")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, "456789")
		}
	}

	download, err := newDisk(t, nil, hops(maxRedirects)).client().Open(t.Context(), "/a", 4)
	if err != nil {
		t.Fatal(err)
	}

	_ = download.Body.Close()
	_, err = newDisk(t, nil, hops(maxRedirects+1)).client().Open(t.Context(), "/a", 4)
	wantFault(t, err, fault.YandexProtocol, false)

	loop := newDisk(
		t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }, nil,
	)

	_, err = loop.client().Stat(t.Context(), "/"+secret)
	wantFault(t, err, fault.YandexProtocol, false)
}

// Everything that can go wrong below HTTP, and invalid answers.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"type":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}

	location := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", text)
			w.WriteHeader(http.StatusFound)
		}
	}

	href := func(text string) http.HandlerFunc { return answer(200, fmt.Sprintf(`{"href":%q}`, text)) }
	closed := httptest.NewServer(nil)
	closed.Close()
	long := func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for i := range chunk {
			chunk[i] = ' '
		}
		for range maxAnswer>>20 + 1 {
			_, _ = w.Write(chunk)
		}
	}

	cases := map[string]struct {
		api, file http.HandlerFunc
		code      fault.Code
	}{
		"bad JSON":          {answer(200, `{"type":"`+secret), nil, fault.YandexProtocol},
		"other JSON":        {answer(200, `["`+secret+`"]`), nil, fault.YandexProtocol},
		"bad date":          {answer(200, `{"modified":"`+secret+`","href":1}`), nil, fault.YandexProtocol},
		"page of a proxy":   {answer(200, `<html>`+secret), nil, fault.YandexProtocol},
		"cut answer":        {cut, nil, fault.YandexUnavailable},
		"too long":          {long, nil, fault.YandexProtocol},
		"bad redirect":      {location("http://" + secret + ":port/%zz?" + secret), nil, fault.YandexUnavailable},
		"redirect to dead":  {location(closed.URL + "/" + secret + "?" + secret), nil, fault.YandexProtocol}, // it is not followed
		"cut file":          {nil, cut, fault.YandexUnavailable},
		"file: to dead":     {nil, location(closed.URL + "/" + secret), fault.YandexUnavailable},
		"file: odd scheme":  {nil, location("gopher://x/" + secret), fault.YandexUnavailable},
		"href missing":      {answer(200, `{}`), nil, fault.YandexProtocol},
		"href unparsable":   {href("http://%zz/" + secret), nil, fault.YandexProtocol},
		"href without host": {href("/" + secret), nil, fault.YandexProtocol},
		"href to dead":      {href(closed.URL + "/" + secret + "?x=" + secret), nil, fault.YandexUnavailable},
	}

	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := operations["stat"]
			if c.file != nil || strings.HasPrefix(name, "href") {
				call = operations["open"]
			}
			wantFault(t, call(t.Context(), newDisk(t, c.api, c.file).client()), c.code, c.code == fault.YandexUnavailable)
		})
	}

	c := New(Options{APIURL: closed.URL, Root: "disk:/", Tokens: tokensFunc(fixed)})
	for _, call := range operations {
		wantFault(t, call(t.Context(), c), fault.YandexUnavailable, true)
	}

	c = New(Options{APIURL: "http://%zz" + secret, Root: "disk:/", Tokens: tokensFunc(fixed)})
	wantFault(t, operations["stat"](t.Context(), c), fault.YandexProtocol, false)
}

// hang sends some bytes and then nothing until the client disconnects.
func hang(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if text != "" {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*disk{
		"silent API":        newDisk(t, hang(""), nil),
		"API stops midway":  newDisk(t, hang(`{"type":`), nil),
		"silent file":       newDisk(t, nil, hang("")),
		"file is not timed": newDisk(t, nil, hang("abc")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			untimed := name == "file is not timed"
			limit, patience := 150*time.Millisecond, 5*time.Minute
			if untimed { // only the file's bytes may take longer than the limit
				limit, patience = 5*time.Second, 10*time.Second
			}
			c := New(Options{APIURL: d.URL, Root: "disk:/", Tokens: tokensFunc(fixed), CallTimeout: limit})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			wantFault(t, operations["open"](ctx, c), fault.YandexUnavailable, true)
			if waited := ctx.Err() != nil; waited != untimed {
				t.Errorf("waited for the end of the context: %t", waited)
			}
		})
	}
}

func TestCancelStopsAtOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		d  *disk
		op string
	}{
		"list":         {newDisk(t, hang(""), nil), "list"},
		"stat midway":  {newDisk(t, hang(`{"type":`), nil), "stat"},
		"link":         {newDisk(t, hang(""), nil), "open"},
		"file headers": {newDisk(t, nil, hang("")), "open"},
		"file body":    {newDisk(t, nil, hang("abc")), "open"},
	}

	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			err := operations[c.op](ctx, c.d.client()) // without the cancellation it has no end
			if !errors.Is(err, context.Canceled) || fault.As(err) != nil {
				t.Errorf("error = %v, want the plain cancellation", err)
			}
		})
	}
}

func TestLatencyIsReported(t *testing.T) {
	t.Parallel()
	d := newDisk(t, answer(503, ""), answer(200, "x"))
	var ops []string
	o := Options{APIURL: d.URL, Root: "disk:/", Tokens: tokensFunc(fixed)}
	o.OnLatency = func(_ context.Context, op string, took time.Duration) {
		if took <= 0 {
			t.Errorf("%s took %v", op, took)
		}
		ops = append(ops, op)
	}
	c := New(o)

	for _, op := range []string{"list", "stat", "open"} {
		_ = operations[op](t.Context(), c)
	}

	if want := []string{"list", "stat", "link", "open"}; !slices.Equal(ops, want) {
		t.Errorf("ops = %q, want %q", ops, want)
	}
}

var oddNames = []string{
	"🎬 кино.mkv", `it's "quoted".txt`, "%2F..%2F", "%2e%2e", "a+b&c=d#e?f;g", " spaces ", "...", "..a", "disk:a",
	"back\\slash",
	"new\nline", strings.Repeat("ы", 127) + "x", strings.Repeat("n", 255),
}

func TestOddNamesArriveUnchanged(t *testing.T) {
	t.Parallel()
	d := newDisk(t, answer(200, `{}`), nil)
	c := d.client()
	for i, name := range oddNames {
		path := "/" + name + "/" + name
		if item, err := c.Stat(t.Context(), path); err != nil || item.Path != path {
			t.Errorf("%q: %+v, %v", path, item, err)
			continue
		}
		if got := d.seen()[i].URL.Query().Get("path"); got != "disk:/Shared"+path {
			t.Errorf("%q arrived as %q", path, got)
		}
	}
}

var badPaths = []string{
	"", "a", "//", "/a/", "//a", "/a//b", "/..", "/../Private", "/a/../b", "/a/..", "/.", "/./a", "disk:/Private", "disk:",
	"/disk:/Private", "trash:/a", "/a\x00b", "\x00", "/\xff\xfe", "..",
}

func TestPathsOutsideTheRootAreRefused(t *testing.T) {
	t.Parallel()
	d := newDisk(t, answer(200, `{}`), nil)
	for _, path := range badPaths {
		_, err := d.client().Stat(t.Context(), path)
		if f := wantFault(t, err, fault.Validation, false); f.Field != "path" {
			t.Errorf("%q: field = %q", path, f.Field)
		}
	}

	_, err := New(Options{APIURL: d.URL, Tokens: tokensFunc(fixed)}).List(t.Context(), "/", 1, 0)
	wantFault(t, err, fault.Validation, false) // no root is no permission
	if len(d.seen()) != 0 {
		t.Error("a refused path reached the API")
	}
}

func FuzzResolve(f *testing.F) {
	for _, name := range oddNames {
		f.Add("disk:/Shared", "/"+name)
	}

	for _, path := range badPaths {
		f.Add("disk:/Shared", path)
	}

	f.Add("disk:/", "/")
	f.Add("disk:/Shared/", "/a/b")
	f.Fuzz(func(t *testing.T, root, path string) {
		full, err := resolve(root, path)
		if err != nil {
			wantFault(t, err, fault.Validation, false)
			return
		}

		base := strings.TrimRight(root, "/")
		rest, inside := strings.CutPrefix(full, base)
		if !inside || base == "" || (rest != path && path != "/") {
			t.Fatalf("%q under %q became %q", path, root, full)
		}
		if path != "/" && (strings.ContainsRune(rest, 0) || rest != (&url.URL{Path: rest}).JoinPath().Path) {
			t.Fatalf("%q under %q is not in its plain form: %q", path, root, full)
		}
	})
}
