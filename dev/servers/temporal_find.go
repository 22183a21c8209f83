package servers

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// oldestServer is the oldest acceptable release of the server: the one with which everything is tested.
var oldestServer = release{1, 32}

// FindTemporal returns the path of a "temporal" program, which runs the development server. It searches the PATH, then
// the user's cache folder. A missing program is downloaded, or built if a download is impossible. A build takes a few
// minutes. progress, which may be nil, gets messages about it, none after the return.
func FindTemporal(ctx context.Context, progress func(string)) (string, error) {
	if progress == nil {
		progress = func(string) {}
	}

	if inPath, err := exec.LookPath("temporal"); err == nil {
		if err = checkTemporal(ctx, inPath); err == nil {
			return inPath, nil
		}
		progress(fmt.Sprintf("not using %s: %v", inPath, err))
	}

	path, err := getTemporal(ctx, progress)
	if err != nil && ctx.Err() == nil {
		return "", fmt.Errorf(
			"no usable temporal program is installed and building one failed: %w\ninstall the Temporal CLI (https://docs.temporal.io/cli) and try again",
			err,
		)
	}
	return path, err
}

// getTemporal finds the program in the user's cache folder, downloads it, or builds it if a download is impossible.
func getTemporal(ctx context.Context, progress func(string)) (string, error) {
	unlock, err := lockPrograms(ctx, progress)
	if err != nil {
		return "", err
	}
	defer unlock()

	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	fetched := filepath.Join(cache, "bin", "temporal-"+fetchedRelease, executable(temporalCLI.name))
	if checkTemporal(ctx, fetched) == nil {
		return fetched, nil
	}
	if built, err := temporalCLI.place(); err == nil && checkTemporal(ctx, built) == nil {
		return built, nil
	}

	err = fetchTemporal(ctx, fetched, progress)
	if err == nil {
		return fetched, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}

	progress(fmt.Sprintf("it cannot be fetched: %v", err))
	return temporalCLI.find(ctx, progress)
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

var temporalServer = regexp.MustCompile(`Server (\d+)\.(\d+)`)

// checkTemporal runs "temporal --version", which prints for example "temporal version 1.9.1 (Server 1.32.0, UI
// 2.54.1)".
func checkTemporal(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()

	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("it does not run: %w", err)
	}

	match := temporalServer.FindSubmatch(out)
	if match == nil {
		return fmt.Errorf("its version is unknown: %q", strings.TrimSpace(string(out)))
	}
	if server := newRelease(match); server.before(oldestServer) {
		return fmt.Errorf("its server is %s, older than %s", server, oldestServer)
	}
	return nil
}

// release is the major and minor number of a version.
type release struct{ major, minor int }

// newRelease takes the numbers from the two groups of a match.
func newRelease(match [][]byte) release {
	major, _ := strconv.Atoi(string(match[1]))
	minor, _ := strconv.Atoi(string(match[2]))
	return release{major, minor}
}

func (r release) before(other release) bool {
	return r.major < other.major || r.major == other.major && r.minor < other.minor
}

func (r release) String() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }
