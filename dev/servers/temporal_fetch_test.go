package servers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// roundTripper is a function that answers requests.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// withTransport makes transport answer all requests of this process until the test ends. Such tests are not parallel.
func withTransport(t *testing.T, transport http.RoundTripper) {
	t.Helper()
	before := http.DefaultTransport
	http.DefaultTransport = transport
	t.Cleanup(func() { http.DefaultTransport = before })
}

// withoutInternet simulates a machine without a network.
func withoutInternet(t *testing.T) {
	t.Helper()
	withTransport(t, roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no such host") }))
}

// releases is a server that acts as temporal.download for the test suite.
type releases struct {
	archive []byte
	stall   bool // sends half of the archive and then stalls
}

// withReleases answers all requests with a program of that text.
func withReleases(t *testing.T, program string, stall bool) *releases {
	t.Helper()
	r := &releases{archive: tarball(t, program), stall: stall}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)

	local := server.Client().Transport
	withTransport(t, roundTripper(func(request *http.Request) (*http.Response, error) {
		to, err := url.Parse(server.URL)
		if err != nil {
			return nil, err
		}
		request = request.Clone(request.Context())
		request.URL.Scheme, request.URL.Host = to.Scheme, to.Host
		return local.RoundTrip(request)
	}))

	return r
}

func (r *releases) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if strings.HasPrefix(request.URL.Path, "/cli/") {
		fmt.Fprint(w, `{"archiveUrl":"https://temporal.download/assets/temporal.tar.gz","fileToExtract":"temporal"}`)
		return
	}

	w.Header().Set("Content-Length", fmt.Sprint(len(r.archive)))
	if !r.stall {
		_, _ = w.Write(r.archive)
		return
	}

	_, _ = w.Write(r.archive[:len(r.archive)/2])
	_ = http.NewResponseController(w).Flush()
	<-request.Context().Done()
}

// tarball holds one program, named temporal.
func tarball(t *testing.T, program string) []byte {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: "temporal", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(files, program); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(files.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}

	return archive.Bytes()
}

func fetchInto(t *testing.T) (path string, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bin", "temporal-released", "temporal")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return path, fetchTemporal(ctx, path, func(string) {})
}

func TestReleasedTemporalIsFetched(t *testing.T) {
	withReleases(t, "#!/bin/sh\necho 'temporal version 1.9.1 (Server 1.32.0, UI 2.50.0)'\n", false)
	path, err := fetchInto(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkTemporal(t.Context(), path); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(path)), "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnfitReleaseIsRefused(t *testing.T) {
	withReleases(t, "#!/bin/sh\necho 'temporal version 1.3.0 (Server 1.31.5, UI 2.49.1)'\n", false)
	path, err := fetchInto(t)
	if err == nil || !strings.Contains(err.Error(), "older than") {
		t.Errorf("an old release: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the old release is kept")
	}
}

func TestSlowDownloadEnds(t *testing.T) {
	before := fetchPatience
	fetchPatience = 200 * time.Millisecond
	t.Cleanup(func() { fetchPatience = before })

	withReleases(t, strings.Repeat("x", 1<<20), true)
	if _, err := fetchInto(t); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a download that stands still: %v", err)
	}
}
