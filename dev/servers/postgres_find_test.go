package servers

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The programs in the archive are scripts: the real one is downloaded only where no PostgreSQL is installed.
func TestDownloadPostgres(t *testing.T) {
	t.Parallel()
	archive := postgresArchive(t)
	downloads := 0
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if filepath.Ext(r.URL.Path) != ".jar" {
			http.NotFound(w, r) // the checksum is optional
			return
		}
		downloads++
		_, _ = w.Write(archive)
	}))
	defer repository.Close()

	home := filepath.Join(t.TempDir(), "cache", "postgresql")
	for range 2 {
		p, err := downloadPostgres(testContext(t), home, repository.URL)
		if err != nil {
			t.Fatal(err)
		}
		if p.version != 17 || p.dir != filepath.Join(home, "bin") {
			t.Errorf("got %+v", p)
		}
	}

	if downloads != 1 {
		t.Errorf("%d downloads; want 1", downloads)
	}
	if entries, _ := os.ReadDir(filepath.Dir(home)); len(entries) != 2 { // and the lock
		t.Errorf("left in the cache: %v", entries)
	}

	repository.Close()
	if _, err := downloadPostgres(testContext(t), home+"2", repository.URL); err == nil {
		t.Error("no error without a repository")
	}
}

func postgresArchive(t *testing.T) []byte {
	t.Helper()
	xz, err := exec.LookPath("xz")
	if err != nil {
		t.Skip("needs the xz program")
	}

	var plain bytes.Buffer
	tarball := tar.NewWriter(&plain)
	for name, body := range map[string]string{
		"bin/postgres": "echo 'postgres (PostgreSQL) 17.5'",
		"bin/initdb":   "exit 1",
		"bin/pg_ctl":   "exit 1",
	} {
		body = "#!/bin/sh\n" + body + "\n"
		if err := tarball.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tarball.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}

	if err := tarball.Close(); err != nil {
		t.Fatal(err)
	}

	compress := exec.Command(xz, "--stdout")
	compress.Stdin = &plain
	packed, err := compress.Output()
	if err != nil {
		t.Fatal(err)
	}

	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	f, err := z.Create("postgres.txz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(packed); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}

	return jar.Bytes()
}
