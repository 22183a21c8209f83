// Package testdb provides tests with a real PostgreSQL: one private server per test process, one migrated database per
// test.
//
// A package that uses it stops the server when its tests are over:
//
//	func TestMain(m *testing.M) { testdb.Main(m) }
package testdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stagecoach/dev/servers"
	"stagecoach/internal/store"
)

const startTime = 2 * time.Minute

// Key encrypts tokens in the databases of tests.
var Key = bytes.Repeat([]byte{7}, 32)

var (
	shared  = sync.OnceValues(start)
	managed atomic.Bool // by Main
	used    atomic.Bool
	serial  atomic.Int64
)

// server is the private server; its first database holds the schema from which all others are copied.
type server struct {
	postgres *servers.Postgres
	dir      string
	admin    *pgxpool.Pool // makes and drops databases; a connection costs as much as a database
	create   sync.Mutex    // PostgreSQL copies a database only without connections to it
}

func start() (*server, error) {
	if !managed.Load() {
		return nil, errors.New("the package's TestMain must call testdb.Main, which stops it")
	}

	used.Store(true)
	dir, err := newFolder(memory())
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()

	postgres, err := servers.StartPostgres(ctx, servers.PostgresOptions{Dir: dir, Fast: true})
	if err != nil {
		return nil, err
	}
	s := &server{postgres: postgres, dir: dir}
	if err := migrate(ctx, postgres.URL); err != nil {
		return s, err
	}
	s.admin, err = pgxpool.New(context.Background(), withDatabase(postgres.URL, "postgres"))
	return s, err
}

// newFolder creates a folder for a server, which may run as another user and needs access.
func newFolder(within string) (string, error) {
	dir, err := os.MkdirTemp(within, "stagecoach-testdb-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

func migrate(ctx context.Context, url string) error {
	s, err := store.Open(ctx, url, Key)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Migrate(ctx)
}

// Main runs a package's tests, cleans up, stops the server if one was started, and exits.
func Main(m interface{ Run() int }, cleanups ...func()) {
	managed.Store(true)
	code := m.Run()
	for _, cleanup := range cleanups {
		cleanup()
	}

	if used.Load() {
		if s, _ := shared(); s != nil {
			if s.admin != nil {
				s.admin.Close()
			}
			_ = s.postgres.Stop()
			_ = os.RemoveAll(s.dir)
		}
	}

	os.Exit(code)
}

// New returns a store on an empty, migrated database of the test's own. It is closed when the test ends.
func New(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), URL(t), Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Connect opens a separate connection to a database until the test ends.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// DB returns connections to a database, past the store, until the test ends. All who ask for the same address share them.
func DB(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pools.Lock()
	defer pools.Unlock()
	if pool := pools.of[url]; pool != nil {
		return pool
	}

	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	pools.of[url] = pool
	t.Cleanup(func() { closeDB(url) })
	return pool
}

// closeDB closes what DB has opened. The next call of DB opens it again.
func closeDB(url string) {
	pools.Lock()
	defer pools.Unlock()
	if pool := pools.of[url]; pool != nil {
		delete(pools.of, url)
		pool.Close()
	}
}

// pools are what DB has opened, by address.
var pools = struct {
	sync.Mutex
	of map[string]*pgxpool.Pool
}{of: map[string]*pgxpool.Pool{}}

// URL returns the address of an empty, migrated database of the test's own.
func URL(t testing.TB) string {
	t.Helper()
	return database(t, (*server).copyTemplate)
}

// Own starts a server with a migrated database, which the test may stop and kill. It chooses the server's folder.
func Own(t testing.TB, o servers.PostgresOptions) *servers.Postgres {
	t.Helper()
	var err error
	if o.Dir, err = newFolder(""); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(o.Dir) })

	server, err := servers.StartPostgres(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(server.Kill)

	if err := migrate(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	return server
}

// Bare returns the address of a database of the test's own without a schema.
func Bare(t testing.TB) string {
	t.Helper()
	return database(t, func(s *server, ctx context.Context, name string) error {
		return s.exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	})
}

func database(t testing.TB, create func(*server, context.Context, string) error) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("PostgreSQL for the tests: %v", err)
	}

	name := fmt.Sprintf("test_%d", serial.Add(1))
	if err := create(s, t.Context(), name); err != nil {
		t.Fatalf("a database for the test: %v", err)
	}

	t.Cleanup(func() { // even with open connections, such as those of a program that was just killed
		if err := s.exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
			t.Logf("a database stays until the server ends: %v", err)
		}
	})

	return withDatabase(s.postgres.URL, name)
}

// Template returns the address of the migrated database from which all others are copied. It must not be written to,
// and no copy is made while there is a connection to it: use it only after a package's tests.
func Template() (string, error) {
	s, err := shared()
	if err != nil {
		return "", err
	}
	return s.postgres.URL, nil
}

func (s *server) copyTemplate(ctx context.Context, name string) error {
	s.create.Lock()
	defer s.create.Unlock()
	template, err := url.Parse(s.postgres.URL)
	if err != nil {
		return err
	}
	return s.exec(ctx, fmt.Sprintf(`CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy`,
		pgx.Identifier{name}.Sanitize(), pgx.Identifier{template.Path[1:]}.Sanitize()))
}

func (s *server) exec(ctx context.Context, sql string) error {
	_, err := s.admin.Exec(ctx, sql)
	return err
}

func withDatabase(address, name string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Path = "/" + name
	return u.String()
}
