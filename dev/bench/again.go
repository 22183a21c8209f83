package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/dev/servers"
	"stagecoach/dev/stack"
	"stagecoach/internal/devinfo"
)

const againTurns = 5 // each with three starts; the median counts

// measureAgain kills everything that "go run ./dev" runs with SIGKILL, and measures its next start on what is left. Its
// processes are dev itself, in which worker, API and simulators run, and the servers. The baseline is a start of the
// same PostgreSQL and Temporal alone after another such kill.
func measureAgain(ctx context.Context, m *machine) (rows []row, err error) {
	if err := m.programs.Build(ctx, "dev"); err != nil {
		return nil, err
	}

	a := &again{machine: m, state: filepath.Join(m.dir, "again")}
	defer func() { err = errors.Join(err, a.ground.Close()) }()
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}

	var took [3][]float64
	for range againTurns {
		// The first start is not measured: after it each of the others starts on what a killed stack has left.
		for i, start := range []func(context.Context) (float64, error){a.startStack, a.startStack, a.startBare} {
			seconds, err := start(ctx)
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], seconds)
		}
	}

	return []row{
		measured("all of dev again after SIGKILL, start to ready", "s", took[1]...).
			against("PostgreSQL and Temporal alone", took[2]...).atMost(1.5),
	}, nil
}

// again starts a stack, or its servers alone, and kills it once it is ready.
type again struct {
	*machine
	state    string // the folder of the stack
	ground   stack.Ground
	postgres *servers.Postgres
	temporal *servers.Temporal
}

// prepare creates the tables and everything else that only a first start does, and finds the programs of the bare
// servers.
func (a *again) prepare(ctx context.Context) (err error) {
	if _, err := a.startStack(ctx); err != nil {
		return err
	}
	a.postgres, err = a.ground.StartPostgres(ctx, servers.PostgresOptions{Dir: filepath.Join(a.state, "postgres")})
	if err != nil {
		return err
	}
	a.temporal, err = a.ground.StartTemporal(ctx, servers.TemporalOptions{DBFile: filepath.Join(a.state, "temporal.db")})
	if err != nil {
		return err
	}
	a.killBare()
	return nil
}

// startStack returns after how many seconds the API was ready.
func (a *again) startStack(ctx context.Context) (seconds float64, err error) {
	ready := filepath.Join(a.state, devinfo.File) // dev writes it when the API is ready
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}

	command := exec.Command(a.programs.Path("dev"), "--no-demo", "--state", a.state)
	command.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "DATABASE_URL=") || strings.HasPrefix(entry, "STAGECOACH_")
	})
	began := time.Now()
	dev, err := startProcess(command)
	if err != nil {
		return 0, err
	}

	for _, err = os.Stat(ready); err != nil; _, err = os.Stat(ready) {
		select {
		case <-dev.Done(): // it limits its own start time
			return 0, fmt.Errorf("dev did not start: %s", dev.log)
		case <-ctx.Done():
			dev.stop()
			return 0, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}

	seconds = time.Since(began).Seconds()
	return seconds, killTree(dev.Process.Pid)
}

// startBare returns after how many seconds PostgreSQL and Temporal answered.
func (a *again) startBare(ctx context.Context) (seconds float64, err error) {
	began := time.Now()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return a.postgres.Restart(ctx) })
	both.Go(func() error { return a.temporal.Restart(ctx) })
	if err := both.Wait(); err != nil {
		return 0, err
	}

	seconds = time.Since(began).Seconds()
	a.killBare()
	return seconds, nil
}

// killBare leaves the data as SIGKILL does, but no shared memory of PostgreSQL.
func (a *again) killBare() {
	a.postgres.Kill()
	a.temporal.Kill()
}
