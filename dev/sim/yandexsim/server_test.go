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

// yandexTest returns a served simulator with an empty disk.
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

// listing is the part of a REST API response that tests read.
type listing struct {
	Name, Type, SHA256, Modified string
	Size                         *int64
	Embedded                     *struct {
		Items                []listing
		Total, Limit, Offset int
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
	if root.Type != "dir" || root.Size != nil || e.Total != 3 || e.Limit != 20 {
		t.Fatalf("%+v", root)
	}
	if names(e.Items) != "b.txt c.bin Фильмы" {
		t.Fatal(names(e.Items))
	}

	file := e.Items[0]
	if file.Type != "file" || *file.Size != 7 || file.Modified != "2024-02-01T12:13:43+00:00" ||
		file.SHA256 != "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73" {
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
		"sort=name&limit=1&offset=1": "c.bin", "limit=0": "", "offset=99": "",
	} {
		if got := list(t, base, "/v1/disk/resources?path=/&"+query); names(got.Embedded.Items) != want || got.Embedded.Total != 3 {
			t.Errorf("%s: %s", query, names(got.Embedded.Items))
		}
	}

	if _, body := disk(t, base, "/v1/disk/resources?path=/&limit=1&fields=name,_embedded.items.type,_embedded.total"); string(body) !=
		`{"_embedded":{"items":[{"type":"file"}],"total":3},"name":"disk"}`+"\n" {
		t.Errorf("%s", body)
	}
	if _, body := disk(t, base, "/v1/disk/resources?path=/b.txt&fields=size"); string(body) != `{"size":7}`+"\n" {
		t.Errorf("%s", body)
	}

	put(t, y, "b.txt", "changed")
	if got := list(t, base, "/v1/disk/resources?path=/b.txt"); got.SHA256 == file.SHA256 {
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
		"/v1/disk/resources?path=/&fields=a..b":        {400, "FieldValidationError"},
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

	if err := os.Remove(filepath.Join(y.options.Dir, "dir/имя файла.txt")); err != nil {
		t.Fatal(err)
	}
	if gone, _ := get(href); gone.StatusCode != 404 {
		t.Fatal(gone.Status)
	}

	for _, r := range y.Requests() {
		if strings.Contains(r.Path, "/download/") && r.Path != "/download/***" {
			t.Fatal("a download link is in the log: " + r.Path)
		}
	}
}

func TestYandexHashesOfLargeFiles(t *testing.T) {
	t.Parallel()
	y, base := yandexTest(t, nil)
	put(t, y, "large", "")
	if err := os.Truncate(filepath.Join(y.options.Dir, "large"), largeFile+1); err != nil {
		t.Fatal(err)
	}

	if got := list(t, base, "/v1/disk/resources?path=/").Embedded.Items[0]; got.SHA256 != "" || *got.Size != largeFile+1 {
		t.Fatalf("%+v", got)
	}

	if got := list(t, base, "/v1/disk/resources?path=/large"); got.SHA256 == "" {
		t.Fatalf("%+v", got)
	}
	if got := list(t, base, "/v1/disk/resources?path=/").Embedded.Items[0]; got.SHA256 == "" {
		t.Fatalf("%+v", got)
	}
}
