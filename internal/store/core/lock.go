package core

import (
	"context"
	"sync"
	"time"
)

const (
	lockCheck = 5 * time.Second // how often a lock's holder verifies that it still holds it
	// PostgreSQL ends the session of a holder silent for this long: its machine is gone, or frozen.
	lockLease = "20s"
)

// Alone runs fn while only this process holds a lock; false: another process holds it. The lock ends with its
// connection, and fn's context with the lock.
func (db *DB) Alone(ctx context.Context, lock int64, fn func(context.Context) error) (bool, error) {
	conn, err := db.Acquire(ctx)
	if err != nil {
		return false, Unavailable(err)
	}
	defer conn.Release()

	var ours bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lock).Scan(&ours); err != nil || !ours {
		return false, Unavailable(err)
	}
	// Closing the connection releases the lock whatever happened to ctx.
	defer func() { _ = conn.Conn().Close(context.WithoutCancel(ctx)) }()

	if _, err := conn.Exec(ctx, `SET idle_session_timeout = '`+lockLease+`'`); err != nil {
		return false, Unavailable(err)
	}

	held, lose := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		defer lose()
		for {
			select {
			case <-held.Done():
				return
			case <-time.After(lockCheck):
			}

			patience, done := context.WithTimeout(held, lockCheck)
			err := conn.Ping(patience)
			done()
			if err != nil {
				return
			}
		}
	})
	defer watch.Wait()
	defer lose()

	return true, fn(held)
}
