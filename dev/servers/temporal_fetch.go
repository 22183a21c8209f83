package servers

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
)

// fetchedRelease is the release of the Temporal CLI that is downloaded as a binary.
const fetchedRelease = "v1.9.1"

// fetchPatience is how long a download may take before the server is built instead.
var fetchPatience = 30 * time.Second

// fetchTemporal downloads the released program with the SDK's test suite, checks it and moves it to path once it is
// complete.
func fetchTemporal(ctx context.Context, path string, progress func(string)) error {
	fresh, remove, err := freshFolder(path)
	if err != nil {
		return err
	}
	defer remove()

	stop := reportTime(progress, "fetching the Temporal server "+fetchedRelease)
	defer stop()

	if err := download(ctx, fresh); err != nil {
		return err
	}

	fetched := filepath.Join(fresh, executable("temporal-cli-"+fetchedRelease))
	if err := checkTemporal(ctx, fetched); err != nil {
		return err
	}
	return keep(fetched, path)
}

// freshFolder creates an empty folder beside that of a program, for incomplete files.
func freshFolder(program string) (folder string, remove func(), err error) {
	folder = filepath.Dir(program) + ".new"
	remove = func() { _ = os.RemoveAll(folder) }
	return folder, remove, errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755))
}

// keep moves a complete program to its place.
func keep(program, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Rename(program, path)
}

// download stores the released program in its own folder.
func download(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()

	// The suite can only download and start in one step. An address without a port makes it give up between the two. This
	// package starts the server itself, to keep its guarantees.
	_, err := testsuite.StartDevServer(ctx, testsuite.DevServerOptions{
		CachedDownload: testsuite.CachedDownload{Version: fetchedRelease, DestDir: dir},
		ClientOptions:  &client.Options{HostPort: "none", Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))},
	})
	if _, missing := os.Stat(filepath.Join(dir, executable("temporal-cli-"+fetchedRelease))); missing == nil {
		return nil
	}
	return err
}
