package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"stagecoach/dev/servers"
	"stagecoach/dev/stack"
	"stagecoach/internal/store"
)

// machine is what all figures share: the built programs, PostgreSQL, and a folder for everything that a run leaves.
type machine struct {
	dir      string
	programs stack.Programs // worker and api
	key      []byte         // seals tokens in the record
	postgres *servers.Postgres
	store    *store.Store
	progress io.Writer
	serial   atomic.Int64 // numbers users, files and requests over the whole run
}

// say tells how far a figure that takes long is.
func (m *machine) say(format string, args ...any) {
	fmt.Fprintf(m.progress, "\n  %s  "+format, append([]any{time.Now().UTC().Format(time.TimeOnly)}, args...)...)
}

func newMachine(ctx context.Context, progress io.Writer) (m *machine, err error) {
	m = &machine{key: make([]byte, 32), progress: progress}
	rand.Read(m.key)
	if m.dir, err = os.MkdirTemp("", "stagecoach-bench-"); err != nil {
		return m, err
	}
	if err := os.Chmod(m.dir, 0o755); err != nil { // PostgreSQL may run as another user, who must pass through
		return m, err
	}
	m.programs = stack.Programs{Dir: filepath.Join(m.dir, "programs")}
	if err := m.programs.Build(ctx, "worker", "api"); err != nil {
		return m, err
	}
	if m.postgres, err = servers.StartPostgres(ctx, servers.PostgresOptions{Dir: filepath.Join(m.dir, "postgres")}); err != nil {
		return m, err
	}
	if m.store, err = store.Open(ctx, m.postgres.URL, m.key); err != nil {
		return m, err
	}
	return m, m.store.Migrate(ctx)
}

func (m *machine) close() (err error) {
	if m.store != nil {
		m.store.Close()
	}
	if m.postgres != nil {
		err = m.postgres.Stop()
	}
	return errors.Join(err, os.RemoveAll(m.dir))
}
