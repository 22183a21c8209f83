package run

import (
	"net"
	"net/netip"
	"slices"
	"sync"

	"stagecoach/internal/allowance"
)

const (
	// otherConnections are for requests that are not streams: each is short, or idle for at most two minutes.
	otherConnections = 1000
	// connectionsOfOne is the limit per network address. People have a few streams, at most thirty, plus six connections
	// per browser, so that dozens of people can work behind one office address, and ten addresses do not use up
	// everything.
	connectionsOfOne = 256
)

// connections is a listener that limits concurrent connections, in total and per network address. A connection above
// the limit is closed at once: an answer would cost what the limit protects.
type connections struct {
	net.Listener
	total, perAddress int
	addressOf         func(remote net.Addr) netip.Prefix // of a client; zero: without a limit of its own
	onRefused         func(limit string)

	mu   sync.Mutex
	open int
	from map[netip.Prefix]int
}

// boundConnections limits a listener's connections, given a number of streams.
func boundConnections(
	listener net.Listener, streams int, proxies []netip.Prefix, onRefused func(limit string),
) *connections {
	return &connections{
		Listener: listener, total: streams + otherConnections, perAddress: connectionsOfOne, addressOf: addressesBut(proxies),
		onRefused: onRefused, from: map[netip.Prefix]int{},
	}
}

// addressesBut returns the address of each client other than this machine and trusted proxies, which represent many
// clients.
func addressesBut(proxies []netip.Prefix) func(net.Addr) netip.Prefix {
	return func(remote net.Addr) netip.Prefix {
		at, err := netip.ParseAddrPort(remote.String())
		client := at.Addr().Unmap().WithZone("")
		trusted := func(p netip.Prefix) bool { return p.Contains(client) }
		if err != nil || client.IsLoopback() || slices.ContainsFunc(proxies, trusted) {
			return netip.Prefix{}
		}
		return allowance.Network(remote.String())
	}
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}

		address := c.addressOf(conn.RemoteAddr())
		if c.take(address) {
			return &connection{Conn: conn, release: sync.OnceFunc(func() { c.release(address) })}, nil
		}

		_ = conn.Close()
		c.onRefused(allowance.LimitConnections)
	}
}

// take counts a connection, unless it exceeds a limit.
func (c *connections) take(address netip.Prefix) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= c.total || address.IsValid() && c.from[address] >= c.perAddress {
		return false
	}

	c.open++
	c.from[address]++
	return true
}

func (c *connections) release(address netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.from[address]--
	if c.from[address] == 0 {
		delete(c.from, address)
	}
}

// connection is counted until it is closed.
type connection struct {
	net.Conn
	release func() // counts once, however often the connection is closed
}

// Close implements net.Conn.
func (c *connection) Close() error {
	defer c.release()
	return c.Conn.Close()
}
