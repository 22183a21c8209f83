package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// temporalVersion is the release of the Temporal CLI that is built when
	// none is installed. Newer ones cannot be installed by "go install".
	temporalVersion = "1.5.1"
	temporalModule  = "github.com/temporalio/cli/cmd/temporal@v" + temporalVersion

	// Older servers silently ignore the fairness and priorities of tasks.
	temporalServerMajor, temporalServerMinor = 1, 29
)

// FindTemporal returns the path of a "temporal" program that can run the
// development server: one in the PATH, else one that "go install" left, else
// the one in the user's cache folder, which it builds when missing. A build
// takes some minutes; progress, which may be nil, is told what goes on, never
// after the return.
func FindTemporal(ctx context.Context, progress func(string)) (string, error) {
	if progress == nil {
		progress = func(string) {}
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	own := filepath.Join(cache, "bin", "temporal-"+temporalVersion, executable("temporal"))
	candidates := goBinaries(ctx, "temporal")
	if inPath, err := exec.LookPath("temporal"); err == nil {
		candidates = append([]string{inPath}, candidates...)
	}
	for _, path := range append(candidates, own) {
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
	if err := buildTemporal(ctx, own, progress); err != nil {
		return "", fmt.Errorf("no usable temporal program is installed and building one failed: %w\ninstall the Temporal CLI (https://docs.temporal.io/cli) and try again", err)
	}
	return own, nil
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// goBinaries returns where "go install" would have put the program.
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

// checkTemporal runs "temporal --version", which answers for instance
// "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)".
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
	major, _ := strconv.Atoi(string(match[1]))
	minor, _ := strconv.Atoi(string(match[2]))
	if major < temporalServerMajor || major == temporalServerMajor && minor < temporalServerMinor {
		return fmt.Errorf("its server is %d.%d, older than %d.%d", major, minor, temporalServerMajor, temporalServerMinor)
	}
	return nil
}

// buildTemporal builds the program and moves it to path when it is complete.
func buildTemporal(ctx context.Context, path string, progress func(string)) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return errors.New("the go tool is not in the PATH (https://go.dev/dl)")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	waited := false
	unlock, err := waitLock(ctx, filepath.Join(dir, "lock"), func() {
		if !waited {
			progress("waiting for another process that builds the Temporal server")
		}
		waited = true
	})
	if err != nil {
		return err
	}
	defer unlock()
	if checkTemporal(ctx, path) == nil {
		return nil // that other process built it
	}

	fresh := filepath.Join(dir, "new")
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return err
	}
	stop := reportTime(progress, "building the Temporal server "+temporalVersion+" (once, about 3 minutes)")
	defer stop()
	_, err = run(ctx, command{
		path: goTool,
		args: []string{"install", temporalModule},
		dir:  fresh,
		// The settings of the project we were started in do not apply.
		env:   environment([]string{"GOFLAGS=", "GOWORK=", "GOOS=", "GOARCH="}, "GOBIN="+fresh, "GOFLAGS=", "GOWORK=off"),
		death: syscall.SIGTERM,
	})
	if err != nil {
		return fmt.Errorf("go install %s: %w", temporalModule, err)
	}
	built := filepath.Join(fresh, executable("temporal"))
	if err := checkTemporal(ctx, built); err != nil {
		return fmt.Errorf("%s: %w", built, err)
	}
	return os.Rename(built, path)
}

// progressEvery is how often a long step says that it still runs.
const progressEvery = 5 * time.Second

// reportTime tells progress what begins and then, until stop is called, how
// long it has taken.
func reportTime(progress func(string), what string) (stop func()) {
	progress(what)
	begin, ticks := time.Now(), time.NewTicker(progressEvery)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			case <-ticks.C:
				progress(fmt.Sprintf("%s: %.0f s", what, time.Since(begin).Seconds()))
			}
		}
	}()
	return func() {
		ticks.Stop()
		close(quit)
		<-ended
	}
}
