package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"stagecoach/internal/fault"
)

// OfLibrary checks that a worker can write the library folder and sees qBittorrent's, whose location downloads returns.
// It leaves no files there.
func OfLibrary(dir string, downloads func(context.Context) (string, error)) Check {
	refused := func(next string) Result {
		return Result{State: StateRefused, Code: fault.ImportFailed, Next: next + ": " + AboutDownloads}
	}

	return Check{Library, func(ctx context.Context) Result {
		probe, err := os.CreateTemp(dir, ".stagecoach-doctor-")
		if err != nil {
			return refused("make STAGECOACH_LIBRARY_DIR a folder that the worker may write")
		}
		_ = probe.Close()
		defer func() { _ = os.Remove(probe.Name()) }()

		from, err := downloads(ctx)
		if err != nil {
			return failed(err, "see whether qBittorrent answers", AboutDownloads)
		}
		if info, err := os.Stat(from); err != nil || !info.IsDir() {
			return refused("let the worker see qBittorrent's folder at the same path, or set STAGECOACH_MEDIA_ROOT")
		}

		other := filepath.Join(from, filepath.Base(probe.Name()))
		err = os.Link(probe.Name(), other)
		_ = os.Remove(other)
		if errors.Is(err, syscall.EXDEV) {
			return Result{
				State: StateWorks, Detail: "files are copied: no hard link leads to qBittorrent's file system or mount",
			}
		}
		return Result{State: StateWorks, Detail: "files are linked: they take no more room while torrents stay"}
	}}
}
