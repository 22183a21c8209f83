// Package smalldisk provides tests with a disk that they can fill.
package smalldisk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a file system.
type Disk struct {
	Dir string
	t   testing.TB
}

// New mounts an in-memory disk of some megabytes for the duration of a test. It skips the test where that is not
// possible.
func New(t testing.TB, megabytes int) Disk {
	t.Helper()
	dir, err := os.MkdirTemp("", "stagecoach-disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	if err := mount(dir, megabytes); err != nil {
		t.Skip("no disk of a test's own can be mounted: ", err)
	}
	t.Cleanup(func() { _ = unmount(dir) })
	return Disk{dir, t}
}

func (d Disk) ballast() string { return filepath.Join(d.Dir, "ballast") }

// Fill uses up all remaining space.
func (d Disk) Fill() {
	d.t.Helper()
	file, err := os.Create(d.ballast())
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.Copy(file, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("the disk is not full: %v", err)
	}
}

// Free releases it.
func (d Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { return len(into), nil }
