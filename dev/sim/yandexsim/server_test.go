package yandexsim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim/simtest"
)

// yandexTest is a served stand-in with an empty disk.
func yandexTest(t testing.TB, change func(*Options)) (*Server, string) {
	t.Helper()
	o := Options{
		Dir: t.TempDir(), ClientID: "id", ClientSecret: "secret", RefreshToken: "refresh-0", AccessToken: "access-0",
	}

	if change != nil {
		change(&o)
	}

	y, err := New(o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = y.Close() })
	return y, simtest.Serve(t, y)
}

// put writes a file of the disk.
func put(t testing.TB, y *Server, name, content string) {
	t.Helper()
	path := filepath.Join(y.options.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// disk calls the REST API with the first access token.
func disk(t testing.TB, base, path string) (int, []byte) {
	t.Helper()
	return diskAs(t, base, path, "OAuth access-0")
}

func diskAs(t testing.TB, base, path, authorization string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return simtest.Answer(t, r)
}

// downloadLink requests a file's download address.
func downloadLink(t testing.TB, base, path string) string {
	t.Helper()
	status, body := disk(t, base, "/v1/disk/resources/download?path="+url.QueryEscape(path))
	var link struct {
		Href      string `json:"href"`
		Method    string `json:"method"`
		Templated *bool  `json:"templated"`
	}
	if err := json.Unmarshal(body, &link); err != nil || link.Method != "GET" || link.Templated == nil || *link.Templated {
		t.Fatalf("%d %s: %v", status, body, err)
	}

	return link.Href
}

// listing is the part of a REST API answer that tests read.
type listing struct {
	Name, Path, Type, MD5, SHA256, Modified string
	MimeType                                string `json:"mime_type"`
	ResourceID                              string `json:"resource_id"`
	Size                                    *int64
	Revision                                int64
	Items                                   []listing
	Limit, Offset                           int
	Embedded                                *struct {
		Items                []listing
		Total, Limit, Offset int
		Path, Sort           string
	} `json:"_embedded"`
}

// list calls the REST API, which must succeed.
func list(t testing.TB, base, path string) (l listing) {
	t.Helper()
	status, body := disk(t, base, path)
	if err := json.Unmarshal(body, &l); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, status, body, err)
	}
	return l
}

func names(items []listing) (all string) {
	for _, i := range items {
		all += i.Name + " "
	}
	return strings.TrimSpace(all)
}

func TestYandexResources(t *testing.T) {
	t.Parallel()
	y, base := yandexTest(t, nil)
	put(t, y, "b.txt", "content")
	put(t, y, "Фильмы/a.mkv", "longer content")
	put(t, y, "c.bin", "")
	past := time.Date(2024, 2, 1, 12, 13, 43, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(y.options.Dir, "b.txt"), past, past); err != nil {
		t.Fatal(err)
	}

	root := list(t, base, "/v1/disk/resources?path=disk:/")
	e := root.Embedded
	if root.Type != "dir" || root.Path != "disk:/" || root.Size != nil || e.Total != 3 || e.Limit != 20 || e.Path != "disk:/" {
		t.Fatalf("%+v", root)
	}
	if names(e.Items) != "b.txt c.bin Фильмы" {
		t.Fatal(names(e.Items))
	}

	file := e.Items[0]
	if file.Path != "disk:/b.txt" || file.Type != "file" || *file.Size != 7 || file.MD5 != "9a0364b9e99bb480dd25e1f0284c8555" ||
		file.SHA256 != "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73" || file.MimeType != "text/plain" ||
		file.Modified != "2024-02-01T12:13:43+00:00" || file.Revision != past.UnixMicro() || file.ResourceID == "" {
		t.Fatalf("%+v", file)
	}
	if *e.Items[1].Size != 0 || e.Items[1].SHA256 == "" {
		t.Fatalf("%+v", e.Items[1])
	}

	for _, path := range []string{"disk:/Фильмы/a.mkv", "/Фильмы/a.mkv", "Фильмы//a.mkv"} {
		if got := list(t, base, "/v1/disk/resources?path="+url.QueryEscape(path)); got.Name != "a.mkv" || got.Embedded != nil {
			t.Errorf("%s: %+v", path, got)
		}
	}

	for query, want := range map[string]string{
		"sort=-name": "Фильмы c.bin b.txt", "sort=size&limit=2&offset=1": "Фильмы b.txt", "sort=-size": "b.txt Фильмы c.bin",
		"sort=modified&limit=1": "b.txt", "limit=0": "", "offset=99": "", "sort=path": "b.txt c.bin Фильмы",
	} {
		if got := list(t, base, "/v1/disk/resources?path=/&"+query); names(got.Embedded.Items) != want || got.Embedded.Total != 3 {
			t.Errorf("%s: %s", query, names(got.Embedded.Items))
		}
	}

	if _, body := disk(t, base, "/v1/disk/resources?path=/&limit=1&fields=name,_embedded.items.path,_embedded.total"); string(body) !=
		`{"_embedded":{"items":[{"path":"disk:/b.txt"}],"total":3},"name":"disk"}`+"\n" {
		t.Errorf("%s", body)
	}
	if _, body := disk(t, base, "/v1/disk/resources?path=/b.txt&fields=size"); string(body) != `{"size":7}`+"\n" {
		t.Errorf("%s", body)
	}

	flat := list(t, base, "/v1/disk/resources/files?limit=2&fields=items.name,limit")
	if names(flat.Items) != "a.mkv b.txt" || flat.Limit != 2 || flat.Items[0].Path != "" {
		t.Errorf("%+v", flat)
	}
	if status, _ := disk(t, base, "/v1/disk/"); status != 200 {
		t.Error(status)
	}

	put(t, y, "b.txt", "changed")
	if got := list(t, base, "/v1/disk/resources?path=/b.txt"); got.SHA256 == file.SHA256 || got.Revision == file.Revision ||
		got.ResourceID != file.ResourceID {
		t.Errorf("%+v", got)
	}
}

func TestYandexRefusals(t *testing.T) {
	t.Parallel()
	y, base := yandexTest(t, nil)
	put(t, y, "dir/a", "x")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}

	for name, target := range map[string]string{"out": secret, "in": "dir/a", "nowhere": "none", "up": ".."} {
		if err := os.Symlink(target, filepath.Join(y.options.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	if got := list(t, base, "/v1/disk/resources?path=/"); names(got.Embedded.Items) != "dir in" {
		t.Error(names(got.Embedded.Items))
	}

	for path, want := range map[string]struct {
		status int
		name   string
	}{
		"/v1/disk/resources":                           {400, "FieldValidationError"},
		"/v1/disk/resources/download":                  {400, "FieldValidationError"},
		"/v1/disk/resources?path=/&limit=-1":           {400, "FieldValidationError"},
		"/v1/disk/resources?path=/&offset=x":           {400, "FieldValidationError"},
		"/v1/disk/resources?path=/&sort=colour":        {400, "FieldValidationError"},
		"/v1/disk/resources?path=/&fields=a..b":        {400, "FieldValidationError"},
		"/v1/disk/resources/files?sort=colour":         {400, "FieldValidationError"},
		"/v1/disk/resources/files?fields=,":            {400, "FieldValidationError"},
		"/v1/disk/resources?path=/none":                {404, "DiskNotFoundError"},
		"/v1/disk/resources?path=/out":                 {404, "DiskNotFoundError"},
		"/v1/disk/resources?path=/up/x":                {404, "DiskNotFoundError"},
		"/v1/disk/resources?path=/dir/../../secret":    {400, "DiskPathFormatError"},
		"/v1/disk/resources?path=/dir/%00":             {404, "DiskNotFoundError"},
		"/v1/disk/resources/download?path=/out":        {404, "DiskNotFoundError"},
		"/v1/disk/resources/download?path=/dir":        {404, "DiskNotFoundError"},
		"/v1/disk/resources/download?path=..%2Fsecret": {400, "DiskPathFormatError"},
		"/v1/elsewhere":                                {404, "NotFoundError"},
	} {
		status, body := disk(t, base, path)
		var reply map[string]string
		if err := json.Unmarshal(body, &reply); err != nil || status != want.status || reply["error"] != want.name ||
			reply["description"] == "" || reply["message"] == "" {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}

	for _, authorization := range []string{"", "OAuth nonsense", "OAuth ", "Bearer access-0"} {
		if status, body := diskAs(t, base, "/v1/disk/resources?path=/", authorization); status != 401 || !strings.Contains(string(body), "UnauthorizedError") {
			t.Errorf("%q: %d %s", authorization, status, body)
		}
	}
}

func TestYandexDownload(t *testing.T) {
	t.Parallel()
	y, base := yandexTest(t, nil)
	put(t, y, "dir/имя файла.txt", "0123456789")
	href := downloadLink(t, base, "/dir/имя файла.txt")
	get := func(url string, headers ...string) (*http.Response, string) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}

		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()

		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}

	whole, body := get(href)
	etag := whole.Header.Get("ETag")
	if whole.StatusCode != 200 || body != "0123456789" || whole.ContentLength != 10 || etag == "" {
		t.Fatal(whole, body)
	}

	part, body := get(href, "Range", "bytes=4-", "If-Range", etag)
	if part.StatusCode != 206 || body != "456789" || part.Header.Get("Content-Range") != "bytes 4-9/10" {
		t.Fatal(part, body)
	}
	if beyond, _ := get(href, "Range", "bytes=10-"); beyond.StatusCode != 416 {
		t.Fatal(beyond.Status)
	}

	put(t, y, "dir/имя файла.txt", "abcdefghijk")
	if changed, body := get(href, "Range", "bytes=4-", "If-Range", etag); changed.StatusCode != 200 || body != "abcdefghijk" {
		t.Fatal(changed.Status, body)
	}

	for _, bad := range []string{"nonsense", "a.b", strings.Repeat("x", 50)} {
		if response, _ := get(base + "/download/" + bad); response.StatusCode != 403 {
			t.Error(bad, response.Status)
		}
	}

	if err := os.Remove(filepath.Join(y.options.Dir, "dir/имя файла.txt")); err != nil {
		t.Fatal(err)
	}
	if gone, _ := get(href); gone.StatusCode != 404 {
		t.Fatal(gone.Status)
	}

	for _, r := range y.Requests() {
		if strings.Contains(r.Path, "eyJ") {
			t.Fatal("a download link is in the log: " + r.Path)
		}
	}
}

func TestYandexTimes(t *testing.T) {
	t.Parallel()
	y, base := yandexTest(t, func(o *Options) {
		o.Latency, o.BytesPerSecond, o.HrefTTL = 60*time.Millisecond, 1<<20, 400*time.Millisecond
	})

	put(t, y, "a", strings.Repeat("x", 300<<10))
	began := time.Now()
	href := downloadLink(t, base, "a")
	if time.Since(began) < 60*time.Millisecond {
		t.Error("no latency")
	}

	began = time.Now()
	if response, err := http.Get(href); err != nil {
		t.Fatal(err)
	} else if n, _ := io.Copy(io.Discard, response.Body); n != 300<<10 || time.Since(began) < 250*time.Millisecond {
		t.Error(n, time.Since(began))
	}

	time.Sleep(400 * time.Millisecond)
	if response, err := http.Get(href); err != nil || response.StatusCode != 403 {
		t.Error("an old link works: ", response, err)
	}
}

func TestYandexHashesOfLargeFiles(t *testing.T) {
	t.Parallel()
	y, base := yandexTest(t, nil)
	put(t, y, "large", "")
	if err := os.Truncate(filepath.Join(y.options.Dir, "large"), largeFile+1); err != nil {
		t.Fatal(err)
	}

	y.hashes.turn <- struct{}{} // another large file is being hashed
	if got := list(t, base, "/v1/disk/resources?path=/").Embedded.Items[0]; got.SHA256 != "" || *got.Size != largeFile+1 {
		t.Fatalf("%+v", got)
	}

	<-y.hashes.turn
	if got := list(t, base, "/v1/disk/resources?path=/large"); got.SHA256 == "" || got.MD5 == "" {
		t.Fatalf("%+v", got)
	}
	if got := list(t, base, "/v1/disk/resources?path=/").Embedded.Items[0]; got.SHA256 == "" {
		t.Fatalf("%+v", got)
	}

	y.hashes.turn <- struct{}{}
	put(t, y, "large", "")
	if err := os.Truncate(filepath.Join(y.options.Dir, "large"), largeFile+2); err != nil {
		t.Fatal(err)
	}

	list(t, base, "/v1/disk/resources?path=/")
	if err := y.Close(); err != nil { // does not wait for its turn
		t.Fatal(err)
	}
}

func TestYandexSkipHashes(t *testing.T) {
	t.Parallel()
	y, base := yandexTest(t, func(o *Options) { o.SkipHashes = true })
	put(t, y, "a", "x")
	if got := list(t, base, "/v1/disk/resources?path=/a"); got.SHA256 != "" || got.MD5 != "" || *got.Size != 1 {
		t.Fatalf("%+v", got)
	}
}
