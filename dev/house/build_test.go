package house

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stagecoach/dev/stack"
)

// TestProgramsAreBuiltAlike compares how the image, `make build` and a release build the programs with how tests and
// benches do.
func TestProgramsAreBuiltAlike(t *testing.T) {
	t.Parallel()
	for file, builds := range map[string]int{"Dockerfile": 2, "Makefile": 1} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Count(string(text), "go build "); found != builds {
			t.Errorf("%s builds %d times, and %d are compared", file, found, builds)
		}
		if found := strings.Count(string(text), "go build -tags="+stack.Tags+" "); found != builds {
			t.Errorf("%s builds %d times with the tags of stack.Tags", file, found)
		}
	}

	release, err := os.ReadFile(filepath.Join("..", "..", ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(release), "\n    tags: ["+stack.Tags+"]\n") {
		t.Errorf(".goreleaser.yaml does not build with the tags of stack.Tags")
	}
}
