package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// errLocked means that another process, or another server of this one, holds the lock.
var errLocked = fmt.Errorf("locked by another process")

// LockFolder creates a folder if necessary and reserves it for this process until release is called.
func LockFolder(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	release, err = lock(filepath.Join(dir, "lock"))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("another process uses %s: stop it or choose another folder", dir)
	}
	return release, err
}

// lock takes the lock file at path and returns the function that releases it. The file stays: if it were removed, two
// processes could lock two different files.
func lock(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}

	ok, err := tryLock(f)
	if ok {
		return func() { unlock(f) }, nil
	}

	_ = f.Close()
	if err == nil {
		err = errLocked
	}
	return nil, err
}

// waitLock is lock, but waits while another process holds the lock.
func waitLock(ctx context.Context, path string, waiting func()) (release func(), err error) {
	for {
		release, err = lock(path)
		if err != errLocked {
			return release, err
		}
		waiting()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}
