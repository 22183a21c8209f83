package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
)

// clusterProgram is a program of a cluster, built from its module.
type clusterProgram struct{ name, pkg, version string }

// The releases are those of docker-compose.yml.
var (
	clusterServer = clusterProgram{"temporal-server", "go.temporal.io/server/cmd/server", "1.29.1"}
	clusterSchema = clusterProgram{"temporal-sql-tool", "go.temporal.io/server/cmd/tools/sql", "1.29.1"}
	clusterUI     = clusterProgram{"temporal-ui", "github.com/temporalio/ui-server/v2/cmd/server", "2.42.1"}
)

// find returns the path of the program in the user's cache folder. A missing one is built there, once, in some minutes.
// progress gets messages about that.
func (p clusterProgram) find(ctx context.Context, progress func(string)) (found string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}

	found = filepath.Join(cache, "bin", p.name+"-"+p.version, executable(p.name))
	if _, err := os.Stat(found); err == nil {
		return found, nil
	}
	if err := os.MkdirAll(filepath.Join(cache, "bin"), 0o755); err != nil {
		return "", err
	}

	unlock, err := waitLock(ctx, filepath.Join(cache, "bin", "cluster.lock"), func() {})
	if err != nil {
		return "", err
	}
	defer unlock()

	if _, err := os.Stat(found); err == nil { // made by the other process
		return found, nil
	}
	return found, p.build(ctx, found, progress)
}

// build builds the program in the versions that its own module names, and moves it to its place when it is complete.
func (p clusterProgram) build(ctx context.Context, place string, progress func(string)) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return errors.New("the go tool is not in the PATH (https://go.dev/dl)")
	}

	fresh, remove, err := freshFolder(place)
	if err != nil {
		return err
	}
	defer remove()

	stop := reportTime(progress, fmt.Sprintf("building %s %s (once, some minutes)", p.name, p.version))
	defer stop()

	_, err = run(ctx, command{
		path: goTool, args: []string{"install", "-ldflags=-s -w", p.pkg + "@v" + p.version}, dir: fresh,
		env: append(buildEnvironment(), "GOBIN="+fresh), death: syscall.SIGTERM,
	})
	if err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	return keep(filepath.Join(fresh, executable(path.Base(p.pkg))), place)
}
