package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImagesHaveTheirSources compares what the images are built from with what .dockerignore lets into the build.
func TestImagesHaveTheirSources(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	ignore := strings.Split(read(".dockerignore"), "\n")
	programs := 0
	for _, build := range regexp.MustCompile(`go build .* -o \S+ (.*)`).FindAllStringSubmatch(read("Dockerfile"), -1) {
		for _, program := range strings.Fields(build[1]) {
			programs++
			for _, name := range linked(t, program) {
				path, ours := strings.CutPrefix(name, "stagecoach/")
				folder, _, _ := strings.Cut(path, "/")
				if ours && !slices.Contains(ignore, "!"+folder) {
					t.Errorf("%s is made of %s, which .dockerignore leaves out", program, name)
				}
			}
		}
	}
	if programs < 4 {
		t.Errorf("the images have %d programs, want 4 and more", programs)
	}
}
