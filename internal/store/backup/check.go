package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Check restores the backup into a temporary database on the server at address, and drops it again.
func (f *File) Check(ctx context.Context, address string, tell Progress) (r Result, err error) {
	conn, err := connect(ctx, address)
	if err != nil {
		return r, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	name := "stagecoach_check_" + strings.ToLower(rand.Text()[:10])
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "42501" {
			return r, errors.New("this account of PostgreSQL may not create a database to check in: name another server with --on")
		}
		return r, err
	}
	defer func() {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if _, dropped := conn.Exec(detached, "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); dropped != nil {
			err = errors.Join(err, fmt.Errorf("the database %s stays: drop it: %w", name, dropped))
		}
	}()

	target, err := inDatabase(address, name)
	if err != nil {
		return r, err
	}
	r, err = f.Restore(ctx, target, tell)
	r.Checked = true
	return r, err
}

// inDatabase is the address of another database on the same server.
func inDatabase(address, name string) (string, error) {
	if !strings.Contains(address, "://") {
		return address + " dbname=" + name, nil // of keywords, the last one counts
	}

	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the address of PostgreSQL cannot be read") // it contains a password
	}
	u.Path = "/" + name
	return u.String(), nil
}
