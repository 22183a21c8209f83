package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// temporalSource finds the folder dev/temporal of the project that contains the working directory. Its module names the
// programs to build, and the versions of all their dependencies.
func temporalSource() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}

	for at := dir; ; at = filepath.Dir(at) {
		source := filepath.Join(at, "dev", "temporal")
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in the source of Stagecoach", dir)
		}
	}
}

// hashOf returns a name for the content of a folder.
func hashOf(folder string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(path), len(text), text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:12], err
}

// temporalProgram is a program that is built from the module in dev/temporal.
type temporalProgram struct{ name, pkg string }

var (
	temporalCLI   = temporalProgram{"temporal", "github.com/temporalio/cli/cmd/temporal"}
	clusterServer = temporalProgram{"temporal-server", "go.temporal.io/server/cmd/server"}
	clusterSchema = temporalProgram{"temporal-sql-tool", "go.temporal.io/server/cmd/tools/sql"}
	clusterUI     = temporalProgram{"temporal-ui", "github.com/temporalio/ui-server/v2/cmd/server"}
)

// find returns the path of the program. A missing one is built, once for each state of the module, which takes a few
// minutes. progress gets messages about that. The caller holds the lock of the programs.
func (p temporalProgram) find(ctx context.Context, progress func(string)) (string, error) {
	path, err := p.place()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, p.build(ctx, path, progress)
}

// place returns the program's location in the user's cache folder once it is built.
func (p temporalProgram) place() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	source, err := temporalSource()
	if err != nil {
		return "", err
	}
	hash, err := hashOf(source)
	return filepath.Join(cache, "bin", p.name+"-"+hash, executable(p.name)), err
}

// build builds the program and moves it to path once it is complete.
func (p temporalProgram) build(ctx context.Context, path string, progress func(string)) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return errors.New("the go tool is not in the PATH (https://go.dev/dl)")
	}

	source, err := temporalSource()
	if err != nil {
		return err
	}
	fresh, remove, err := freshFolder(path)
	if err != nil {
		return err
	}
	defer remove()

	stop := reportTime(progress, fmt.Sprintf("building %s (once, some minutes)", p.name))
	defer stop()

	built := filepath.Join(fresh, executable(p.name))
	_, err = run(ctx, command{
		path: goTool, args: []string{"build", "-ldflags=-s -w", "-o", built, p.pkg}, dir: source,
		env: buildEnvironment(), death: syscall.SIGTERM,
	})
	if err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	return keep(built, path)
}

// lockPrograms waits until no other process fetches or builds a program.
func lockPrograms(ctx context.Context, progress func(string)) (unlock func(), err error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}

	folder := filepath.Join(cache, "bin")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}

	waited := false
	return waitLock(ctx, filepath.Join(folder, "lock"), func() {
		if !waited {
			progress("waiting for another process that fetches or builds the Temporal server")
		}
		waited = true
	})
}

// buildEnvironment omits the Go settings of the current project, except CGO_ENABLED: with the same value the two share
// compiled packages. The compiler only collects garbage from a gigabyte on, which saves a fifth of its time (measured
// 2026-11-22).
func buildEnvironment() []string {
	return environment([]string{"GOFLAGS=", "GOWORK=", "GOOS=", "GOARCH=", "GOGC=", "GOMEMLIMIT="},
		"GOFLAGS=", "GOWORK=off", "GOGC=off", "GOMEMLIMIT=1GiB")
}

// progressEvery is the interval of the messages about a long step.
const progressEvery = 5 * time.Second

// reportTime reports a step to progress when it begins, and then, until stop is called, how long it has taken.
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
