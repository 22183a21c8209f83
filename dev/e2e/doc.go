// Package e2e tests the whole from outside: real worker and API processes, real PostgreSQL and Temporal, stand-ins for
// Telegram and the storage, faults and outages on purpose.
package e2e
