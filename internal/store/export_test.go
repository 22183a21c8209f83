package store

import "github.com/jackc/pgx/v5"

// Trace lets t see every statement of the stores that are opened from now on.
func Trace(t pgx.QueryTracer) { tracer = t }
