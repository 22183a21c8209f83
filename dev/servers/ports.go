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

// Free ports are taken from below the range from which Linux and macOS choose the local ports of outgoing connections.
// Otherwise such a connection could take a server's port while the server restarts, or a client that retries against a
// stopped server could connect to itself.
const (
	firstPort = 20000
	lastPort  = 32000
)

// block is the ports that only this process hands out: it listens on the first of them for as long as it runs, so that
// another process takes another block. Nothing else protects a port until its server listens, or while it restarts.
var block = struct {
	sync.Mutex
	next, end int
	claims    []net.Listener
}{}

const blockSize = 50

// FreePort returns an unused TCP port of the loopback address that it has not returned before.
func FreePort() (int, error) {
	block.Lock()
	defer block.Unlock()
	for range 1000 {
		if block.next == block.end && !claimBlock() {
			continue
		}
		port := block.next
		block.next++
		if portIsFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port found between %d and %d on 127.0.0.1", firstPort, lastPort)
}

// claimBlock returns false if somebody else has the block that it chose.
func claimBlock() bool {
	first := firstPort + blockSize*rand.IntN((lastPort-firstPort)/blockSize)
	claim, err := net.Listen("tcp", loopback(first))
	if err != nil {
		return false
	}
	block.claims = append(block.claims, claim)
	block.next, block.end = first+1, first+blockSize
	return true
}

// HoldPorts keeps the block of a port for a process that has ended and is started again: no other process takes a block
// that somebody holds.
func HoldPorts(port int) (net.Listener, error) {
	return net.Listen("tcp", loopback(port-(port-firstPort)%blockSize))
}

// PreferPort returns the requested port if it is free, otherwise another one. Zero means any free port.
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
