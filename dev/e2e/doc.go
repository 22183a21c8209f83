// Package e2e tests Stagecoach from outside: real worker and API processes, real PostgreSQL and Temporal, stand-ins for
// Telegram and the storage, with injected faults and outages.
package e2e
