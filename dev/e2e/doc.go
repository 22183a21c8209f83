// Package e2e tests Stagecoach from outside: real worker and API processes, real PostgreSQL and Temporal, simulators of
// Telegram and the storage, with injected faults and outages.
package e2e
