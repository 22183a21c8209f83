package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/operations/doctor"
)

func TestLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	library, downloads, file := filepath.Join(dir, "library"), filepath.Join(dir, "downloads"), filepath.Join(dir, "file")
	for _, folder := range []string{library, downloads} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	at := func(place string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return place, nil }
	}
	want(t, doctor.OfLibrary(library, at(downloads)), doctor.StateWorks, "", "", "files are linked: they take no more room while torrents stay")
	for _, wrong := range []string{file, filepath.Join(dir, "gone")} {
		want(t, doctor.OfLibrary(wrong, at(downloads)), doctor.StateRefused, fault.ImportFailed, "", "")
		want(t, doctor.OfLibrary(library, at(wrong)), doctor.StateRefused, fault.ImportFailed, "", "")
	}
	away := func(context.Context) (string, error) { return "", fault.New(fault.ProviderUnavailable, "away") }
	want(t, doctor.OfLibrary(library, away), doctor.StateUnreachable, fault.ProviderUnavailable, "", "")

	if memory, err := os.MkdirTemp("/dev/shm", "library-"); err == nil { // another file system
		defer func() { _ = os.RemoveAll(memory) }()
		if got := doctor.OfLibrary(memory, at(downloads)).Run(t.Context()); got.State != doctor.StateWorks {
			t.Errorf("%+v", got)
		}
	}

	for _, folder := range []string{library, downloads} {
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("%v %v", entries, err)
		}
	}
}
