package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	postgresUser = "stagecoach"
	postgresDB   = "stagecoach"

	// A server that was killed replays its log before it answers, which takes time.
	postgresStartTime = 60 * time.Second
)

// postgresAtOnce ends the server like a crash. SIGQUIT has the same effect on clients and data as SIGKILL, but
// PostgreSQL also ends its child processes and frees its shared memory.
var postgresAtOnce = ask{syscall.SIGQUIT, 10 * time.Second}

// PostgresOptions says where and how to run PostgreSQL.
type PostgresOptions struct {
	Dir  string    // holds the data, the password and a lock; created when missing
	Port int       // preferred port; replaced by a free one when busy; 0 means any
	Log  io.Writer // gets the server's output; must allow concurrent use; may be nil
	Fast bool      // for tests: cheap logins, and no wait for the disk, so a power failure may damage the data
}

// Postgres is a private PostgreSQL server for this process and for those who can read its password file.
type Postgres struct {
	// URL is the address of the database "stagecoach", with user and password.
	// It stays the same over Restart.
	URL string
	// Version is the server's major version, such as 17.
	Version int

	child
	options PostgresOptions
	port    int
	data    dataDir
}

// StartPostgres starts a server on the data in o.Dir, which it creates at the first start. It returns when the database
// accepts connections. The context only limits the start; the server runs until Stop or Kill.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	o.Dir = dir
	p := &Postgres{options: o}
	p.child = child{
		name: "PostgreSQL in " + dir, lockFile: filepath.Join(dir, "lock"), launch: p.run,
		end: func(process *process) error {
			return process.stop(ask{syscall.SIGINT, 10 * time.Second}, postgresAtOnce)
		},
		crash: func(process *process) { _ = process.stop(postgresAtOnce) },
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := p.startAnywhere(ctx, p.choosePort); err != nil {
		return nil, fmt.Errorf("start PostgreSQL in %s: %w", dir, err)
	}
	return p, nil
}

func (p *Postgres) choosePort(preferred bool) (port int, err error) {
	if preferred {
		port = p.options.Port
	}
	p.port, err = PreferPort(port)
	return p.port, err
}

// run prepares the directory and starts the server on p.port.
func (p *Postgres) run(ctx context.Context) (*process, error) {
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}

	p.data = dataDir{dir: p.options.Dir, as: as}
	if err := p.data.stopLeftover(ctx); err != nil {
		return nil, err
	}

	version, err := p.data.version()
	if err != nil {
		return nil, err
	}

	programs, err := findPostgres(ctx, version)
	if err != nil {
		return nil, err
	}

	if version == 0 {
		if err := p.data.initialise(ctx, programs, p.options.Fast); err != nil {
			return nil, err
		}
	}

	password, err := p.data.password()
	if err != nil {
		return nil, err
	}

	// Others may read these during a restart, which does not change them.
	if u := postgresURL(p.port, password, postgresDB); u != p.URL {
		p.URL, p.Version = u, programs.version
	}

	process, err := p.startProgram(programs)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, postgresStartTime)
	defer cancel()

	err = process.await(ctx, 25*time.Millisecond, func(ctx context.Context) error {
		return p.ready(ctx, password)
	})
	if err != nil {
		_ = process.stop(postgresAtOnce)
		return nil, err
	}
	return process, nil
}

func (p *Postgres) startProgram(programs postgresPrograms) (*process, error) {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(p.port),
		// No socket file: its path may have at most 107 bytes.
		"unix_socket_directories=",
		"shared_buffers=64MB",
		// A cluster's four services keep up to 120 connections, its three workers, two APIs and payments another 92.
		"max_connections=300",
		"timezone=UTC",
		"log_checkpoints=off",
	}

	if p.options.Fast {
		// Not synchronous_commit=off: it would lose what was committed in the last moments before Kill, and saves
		// nothing without fsync.
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}

	c, closeFiles, err := p.data.command(filepath.Join(programs.dir, "postgres"))
	if err != nil {
		return nil, err
	}
	defer closeFiles()

	for _, s := range settings {
		c.args = append(c.args, "-c", s)
	}

	c.death = syscall.SIGINT // PostgreSQL disconnects all clients and shuts down
	c.log = p.options.Log
	return start(c)
}

// ready connects once and creates the database unless it exists.
func (p *Postgres) ready(ctx context.Context, password string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	conn, err := pgx.Connect(ctx, p.URL)
	if err == nil {
		return conn.Close(ctx)
	}

	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return err
	}

	switch pgErr.Code {
	case "3D000": // invalid_catalog_name
		return p.createDatabase(ctx, password)
	case "28P01", "28000": // wrong password, unknown user
		return permanentError{fmt.Errorf(
			"the password in %s does not fit the data beside it: restore it, "+
				"or remove %s to begin with an empty database: %w",
			p.data.passwordFile(), p.options.Dir, err,
		)}
	}

	return err
}

func (p *Postgres) createDatabase(ctx context.Context, password string) error {
	conn, err := pgx.Connect(ctx, postgresURL(p.port, password, "postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "CREATE DATABASE "+postgresDB)
	return err
}

func postgresURL(port int, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresUser, password),
		Host:     loopback(port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// String describes the server without its password.
func (p *Postgres) String() string {
	return strings.Join([]string{"PostgreSQL", strconv.Itoa(p.Version), "on", loopback(p.port)}, " ")
}
