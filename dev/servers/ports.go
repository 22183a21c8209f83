package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Free ports are taken from below the range from which Linux and macOS choose
// the local ports of outgoing connections. Otherwise such a connection could
// take a server's port while the server restarts, or a client that retries
// against a stopped server could connect to itself.
const (
	firstPort = 20000
	lastPort  = 32000
)

// handedOut holds the ports that this process has returned: nothing else protects them until the server listens.
var handedOut = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// FreePort returns an unused TCP port of the loopback address that it has not returned before.
func FreePort() (int, error) {
	handedOut.Lock()
	defer handedOut.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if !handedOut.ports[port] && portIsFree(port) {
			handedOut.ports[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port found between %d and %d on 127.0.0.1", firstPort, lastPort)
}

// PreferPort returns the requested port when it is free, else another one. Zero means any free port.
func PreferPort(port int) (int, error) {
	if port > 0 && portIsFree(port) {
		return port, nil
	}
	return FreePort()
}

// portIsFree also dials, because macOS lets one program listen on 127.0.0.1 while another listens on all addresses.
func portIsFree(port int) bool {
	if conn, err := net.DialTimeout("tcp", loopback(port), time.Second); err == nil {
		_ = conn.Close()
		return false
	}
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// portTaken reports whether a child ended because another process had taken the port chosen for it.
func portTaken(err error) bool {
	var exit *exitError
	return errors.As(err, &exit) && strings.Contains(strings.ToLower(exit.output), "already in use")
}
