// Package servers runs what Stagecoach stands on as child processes of its own: a
// private PostgreSQL, a Temporal development server and, when it is installed,
// qBittorrent.
//
// The command "go run ./dev" and the integration tests use it. Nothing that
// runs in production may import it.
//
// Three promises hold for every child:
//
//   - It listens on the loopback address only.
//   - It ends when its owner calls Stop or Kill and, on Linux, also when this
//     process dies without a chance to say goodbye (kill -9): the kernel then
//     signals the child. On other systems a child left behind by a killed
//     process is stopped at the next start with the same folder (PostgreSQL).
//   - Ctrl-C in the terminal does not reach it, so that the owner decides in
//     which order things stop.
package servers
