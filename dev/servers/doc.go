// Package servers runs the servers that Stagecoach needs as private child processes: PostgreSQL, a Temporal development
// server and, if it is installed, qBittorrent.
//
// The command "go run ./dev" and the integration tests use it. Nothing that runs in production may import it.
//
// Three guarantees hold for every child:
//
//   - It only listens on the loopback address.
//   - It ends when its owner calls Stop or Kill. On Linux it also ends when this process is killed (kill -9), because
//     the kernel then signals the child. On other systems the next start with the same folder stops a PostgreSQL that
//     a killed process left behind.
//   - Ctrl-C in the terminal does not reach it, so that the owner decides in which order children stop.
package servers
