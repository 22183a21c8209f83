package servers

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/night"
)

func startPostgres(t *testing.T, o PostgresOptions) *Postgres {
	t.Helper()
	o.Fast = true
	begin := time.Now()
	p, err := StartPostgres(testContext(t), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if pids, _ := serversIn(p.data.data()); len(pids) > 0 {
			t.Errorf("processes left: %v", pids)
		}
	})

	t.Logf("%v after %v", p, time.Since(begin).Round(time.Millisecond))
	return p
}

func exec1(t *testing.T, p *Postgres, sql string) {
	t.Helper()
	conn, err := pgx.Connect(testContext(t), p.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(testContext(t), sql); err != nil {
		t.Fatal(err)
	}
}

// mark writes a row that wantMark finds later.
func mark(t *testing.T, p *Postgres) {
	t.Helper()
	exec1(t, p, "CREATE TABLE mark AS SELECT 1 AS n")
}

func wantMark(t *testing.T, p *Postgres) {
	t.Helper()
	exec1(t, p, "INSERT INTO mark SELECT n + 1 FROM mark")
}

func TestLongPostgresKeepsItsData(t *testing.T) {
	night.Only(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "below")
	var log logBuffer
	p := startPostgres(t, PostgresOptions{Dir: dir, Log: &log})
	if !strings.HasPrefix(p.URL, "postgres://stagecoach:") || !strings.HasSuffix(p.URL, "/stagecoach?sslmode=disable") {
		t.Errorf("URL = %s", p.URL)
	}
	if !strings.Contains(log.String(), "ready to accept connections") {
		t.Errorf("log = %q", log.String())
	}

	mark(t, p)
	if _, err := StartPostgres(testContext(t), PostgresOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "already uses "+dir) {
		t.Errorf("a second server on the same folder: %v", err)
	}

	other := startPostgres(t, PostgresOptions{Dir: t.TempDir(), Port: p.port})
	if other.port == p.port {
		t.Error("two servers on one port")
	}

	for range 2 {
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}

	<-p.Done()
	p = startPostgres(t, PostgresOptions{Dir: dir, Port: p.port})
	wantMark(t, p)
}

func TestPostgresOutages(t *testing.T) {
	t.Parallel()
	p := startPostgres(t, PostgresOptions{Dir: t.TempDir()})
	address := p.URL
	mark(t, p)
	conn, err := pgx.Connect(testContext(t), p.URL)
	if err != nil {
		t.Fatal(err)
	}

	p.Kill()
	if err := conn.Ping(testContext(t)); err == nil {
		t.Error("a connection survived Kill")
	}
	if err := p.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}

	wantMark(t, p)
	if err := p.Restart(testContext(t)); err != nil { // this time it runs
		t.Fatal(err)
	}

	wantMark(t, p)

	// Only the main process is killed; its children live for a moment longer.
	done := p.Done()
	if err := p.process.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	<-done
	if err := p.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}

	wantMark(t, p)
	if p.URL != address {
		t.Errorf("URL changed from %s to %s", address, p.URL)
	}
}

// A server whose owner is gone, as on systems that do not signal it then.
func TestLongPostgresReplacesOneLeftBehind(t *testing.T) {
	night.Only(t)
	t.Parallel()
	dir := t.TempDir()
	old := startPostgres(t, PostgresOptions{Dir: dir})
	mark(t, old)
	old.unlock() // as the end of the owner does
	p := startPostgres(t, PostgresOptions{Dir: dir})
	wantMark(t, p)
	<-old.Done()
	old.process = nil
}

func TestLongPostgresIgnoresDeadPidFile(t *testing.T) {
	night.Only(t)
	t.Parallel()
	dir := t.TempDir()
	p := startPostgres(t, PostgresOptions{Dir: dir})
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}

	// The pid of a living process that is not the server: of the test itself.
	pidFile := strconv.Itoa(os.Getpid()) + "\n" + p.data.data() + "\n"
	if err := os.WriteFile(filepath.Join(p.data.data(), "postmaster.pid"), []byte(pidFile), 0o600); err != nil {
		t.Fatal(err)
	}

	startPostgres(t, PostgresOptions{Dir: dir})
}

func TestLongPostgresBusyPort(t *testing.T) {
	night.Only(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()

	busy := l.Addr().(*net.TCPAddr).Port
	p := startPostgres(t, PostgresOptions{Dir: t.TempDir(), Port: busy})
	if p.port == busy {
		t.Error("the busy port was not replaced")
	}

	// Restart guarantees the same port, so a busy one is an error.
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}

	thief, err := net.Listen("tcp", loopback(p.port))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Restart(testContext(t)); !portTaken(err) {
		t.Errorf("restart on a taken port: %v", err)
	}

	_ = thief.Close()
	if err := p.Restart(testContext(t)); err != nil {
		t.Error(err)
	}
}

func TestLongPostgresKeepsStrangersOut(t *testing.T) {
	night.Only(t)
	t.Parallel()
	p := startPostgres(t, PostgresOptions{Dir: t.TempDir()})
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}

	for _, who := range []*url.Userinfo{url.UserPassword("stagecoach", "guess"), url.User("stagecoach"), url.User("postgres")} {
		u.User = who
		if _, err := pgx.Connect(testContext(t), u.String()); err == nil {
			t.Errorf("%v got in", who)
		}
	}

	for name, most := range map[string]os.FileMode{p.data.passwordFile(): 0o600, p.data.data(): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != most {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode().Perm(), err, most)
		}
	}
}

func TestLongPostgresAsRootBelowClosedFolder(t *testing.T) {
	night.Only(t)
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can")
	}

	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(closed, "state")
	p := startPostgres(t, PostgresOptions{Dir: dir})
	mark(t, p)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}

	// As after a copy or a restored backup: everything belongs to root.
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, _ error) error { return os.Chown(name, 0, 0) })
	if err != nil {
		t.Fatal(err)
	}

	wantMark(t, startPostgres(t, PostgresOptions{Dir: dir}))
}

func TestPostgresRefusals(t *testing.T) {
	t.Parallel()
	good := t.TempDir()
	if err := startPostgres(t, PostgresOptions{Dir: good}).Stop(); err != nil {
		t.Fatal(err)
	}

	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(good, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	refused := func(want string) {
		t.Helper()
		_, err := StartPostgres(testContext(t), PostgresOptions{Dir: good})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error with %q", err, want)
		}
		if pids, _ := serversIn(filepath.Join(good, "data")); len(pids) > 0 {
			t.Errorf("processes left: %v", pids)
		}
	}

	write("password", "wrong")
	refused("does not fit the data")
	if err := os.Remove(filepath.Join(good, "password")); err != nil {
		t.Fatal(err)
	}

	refused("its password is not")
	write("data/PG_VERSION", "99\n")
	refused("made by PostgreSQL 99")
	write("data/PG_VERSION", "9.6\n")
	refused("too old")
	if err := os.Remove(filepath.Join(good, "data/PG_VERSION")); err != nil {
		t.Fatal(err)
	}

	refused("is no PostgreSQL data")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fresh := t.TempDir()
	if _, err := StartPostgres(ctx, PostgresOptions{Dir: fresh}); !errors.Is(err, context.Canceled) {
		t.Errorf("start although the context was over: %v", err)
	}
	if entries, _ := os.ReadDir(fresh); len(entries) > 1 { // the lock stays
		t.Errorf("a cancelled start left %v", entries)
	}
}
