package house

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mostFiles is how many Go files a folder may have, without tests: with more it is two subjects.
const mostFiles = 22

// TestFoldersStaySmall checks that no folder has grown beyond a subject.
func TestFoldersStaySmall(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "bin") {
			return filepath.SkipDir
		}

		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			folder, _ := filepath.Rel(root, filepath.Dir(name))
			counts[filepath.ToSlash(folder)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	for folder, files := range counts {
		if files > mostFiles {
			t.Errorf("%s has %d files besides tests, at most %d: it is more than one subject", folder, files, mostFiles)
		}
	}

	if len(counts) < 30 {
		t.Errorf("only %d folders were found", len(counts))
	}
}
