package servers

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// oldestServer is the oldest release of the server that respects the fairness and priorities of tasks.
var oldestServer = release{1, 29}

// oldestDriver is the oldest release of the server's SQLite driver that survives a cancelled request. With an older one
// a request that is cancelled at the wrong moment breaks the server's only connection permanently, and every later
// request ends with "interrupted (9)" (https://gitlab.com/cznic/sqlite/-/issues/241).
var oldestDriver = release{1, 44}

const sqliteDriver = "modernc.org/sqlite"

// FindTemporal returns the path of a "temporal" program that can run the development server. It looks in the PATH, then
// where "go install" puts programs, then in the user's cache folder. A missing program is downloaded, or built where a
// download is impossible. A build takes some minutes. progress, which may be nil, gets messages about it, none after
// the return.
func FindTemporal(ctx context.Context, progress func(string)) (string, error) {
	if progress == nil {
		progress = func(string) {}
	}

	cache, err := cacheDir()
	if err != nil {
		return "", err
	}

	own := temporalPrograms{
		fetched: filepath.Join(cache, "bin", "temporal-"+fetchedRelease, executable("temporal")),
		built:   filepath.Join(cache, "bin", "temporal-"+temporalVersion+"-sqlite-"+driverVersion, executable("temporal")),
		lock:    filepath.Join(cache, "bin", "lock"),
	}

	candidates := goBinaries(ctx, "temporal")
	if inPath, err := exec.LookPath("temporal"); err == nil {
		candidates = append([]string{inPath}, candidates...)
	}

	for _, path := range append(candidates, own.fetched, own.built) {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		err := checkTemporal(ctx, path)
		if err == nil {
			return path, nil
		}
		progress(fmt.Sprintf("not using %s: %v", path, err))
	}

	if err := ctx.Err(); err != nil {
		return "", err
	}

	path, err := own.get(ctx, progress)
	if err != nil {
		return "", fmt.Errorf(
			"no usable temporal program is installed and building one failed: %w\ninstall the Temporal CLI (https://docs.temporal.io/cli) and try again",
			err,
		)
	}

	return path, nil
}

// temporalPrograms are the places in the user's cache folder.
type temporalPrograms struct{ fetched, built, lock string }

// get downloads the program, or builds it where a download is impossible.
func (p temporalPrograms) get(ctx context.Context, progress func(string)) (string, error) {
	if err := os.MkdirAll(filepath.Dir(p.lock), 0o755); err != nil {
		return "", err
	}

	waited := false
	unlock, err := waitLock(ctx, p.lock, func() {
		if !waited {
			progress("waiting for another process that fetches or builds the Temporal server")
		}
		waited = true
	})
	if err != nil {
		return "", err
	}
	defer unlock()

	for _, path := range []string{p.fetched, p.built} { // made by the other process
		if checkTemporal(ctx, path) == nil {
			return path, nil
		}
	}

	err = fetchTemporal(ctx, p.fetched, progress)
	if err == nil {
		return p.fetched, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}

	progress(fmt.Sprintf("it cannot be fetched: %v", err))
	return p.built, buildTemporal(ctx, p.built, progress)
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// goBinaries returns where "go install" puts the program.
func goBinaries(ctx context.Context, name string) []string {
	out, err := exec.CommandContext(ctx, "go", "env", "GOBIN", "GOPATH").Output()
	if err != nil {
		return nil
	}

	lines := strings.Split(string(out), "\n")
	var paths []string
	if lines[0] != "" {
		paths = append(paths, filepath.Join(strings.TrimSpace(lines[0]), executable(name)))
	}

	for _, dir := range filepath.SplitList(strings.TrimSpace(lines[1])) {
		paths = append(paths, filepath.Join(dir, "bin", executable(name)))
	}
	return paths
}

var temporalServer = regexp.MustCompile(`Server (\d+)\.(\d+)`)

// checkTemporal runs "temporal --version", which answers for instance "temporal version 1.5.1 (Server 1.29.1, UI
// 2.42.1)". It also reads from the program the version of its SQLite driver.
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

	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil // not a Go program, such as a script that starts one
	}
	return checkDriver(info)
}

var moduleVersion = regexp.MustCompile(`^v(\d+)\.(\d+)\.`)

func checkDriver(info *buildinfo.BuildInfo) error {
	for _, module := range info.Deps {
		if module.Path != sqliteDriver {
			continue
		}

		if module.Replace != nil {
			module = module.Replace
		}

		match := moduleVersion.FindSubmatch([]byte(module.Version))
		if match == nil {
			return nil // a local copy of the driver
		}
		if driver := newRelease(match); driver.before(oldestDriver) {
			return fmt.Errorf(
				"its SQLite driver is %s, older than %s, and may break when a request is cancelled", driver, oldestDriver,
			)
		}
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
