package run

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"stagecoach/internal/allowance"
)

// TestConnectionsAreBounded opens more connections than allowed, from one address and in total.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	one, two := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/64")
	b := serveBounded(t, 4, 2)
	b.from(one)
	first, second := b.taken(), b.taken()
	b.closed("a third of one address")

	b.from(two)
	third := b.taken()
	b.from(netip.Prefix{})
	fourth := b.taken()
	b.closed("a fifth in all")

	for range 2 { // a double close releases only once
		_ = first.Close()
	}
	b.from(one)
	fifth := b.taken()
	b.closed("another of one address")

	for _, conn := range []net.Conn{second, third, fourth, fifth} {
		_ = conn.Close()
	}
	b.from(netip.Prefix{}) // as from a proxy: only the total limit counts
	for range 4 {
		b.taken()
	}
	b.closed("a fifth of those without a bound of their own")

	if got := b.refusals(); got != 4 {
		t.Errorf("%d refusals are counted, want 4", got)
	}
}

// TestWhoseConnectionsAreBounded returns the addresses that have their own limit.
func TestWhoseConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	addressOf := addressesBut([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::5/128")})
	for remote, want := range map[string]string{
		"127.0.0.1:80": "", "[::1]:80": "", "[::ffff:127.0.0.2]:80": "", "10.1.2.3:80": "", "[2001:db8::5]:80": "",
		"192.0.2.7:80": "192.0.2.7/32", "[::ffff:192.0.2.7]:80": "192.0.2.7/32", "[2001:db8::6]:80": "2001:db8::/64",
	} {
		got := addressOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(remote)))
		if got.IsValid() != (want != "") || got.IsValid() && got.String() != want {
			t.Errorf("%s counts as %v, want %q", remote, got, want)
		}
	}
}

// boundedRig is a listener with limits that hands over its accepted connections.
type boundedRig struct {
	t        *testing.T
	listener *connections
	accepted chan net.Conn
	serving  sync.WaitGroup

	mu      sync.Mutex
	address netip.Prefix // of the next client
	refused int
}

func serveBounded(t *testing.T, total, perAddress int) *boundedRig {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	b := &boundedRig{t: t, accepted: make(chan net.Conn, 100)}
	b.listener = boundConnections(listener, total, nil, func(limit string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if limit == allowance.LimitConnections {
			b.refused++
		}
	})
	b.listener.total, b.listener.perAddress = total, perAddress
	b.listener.addressOf = func(net.Addr) netip.Prefix {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.address
	}

	b.serving.Go(func() {
		for {
			conn, err := b.listener.Accept()
			if err != nil {
				return
			}
			b.accepted <- conn
		}
	})
	t.Cleanup(b.serving.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	return b
}

// from sets the address of the next connections.
func (b *boundedRig) from(address netip.Prefix) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.address = address
}

// taken opens a connection that is accepted, and returns the server's side of it.
func (b *boundedRig) taken() net.Conn {
	b.t.Helper()
	b.dial()
	conn := <-b.accepted
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// closed opens a connection that the server closes without a response.
func (b *boundedRig) closed(what string) {
	b.t.Helper()
	conn, read := b.dial(), make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()

	select {
	case err := <-read:
		if !errors.Is(err, io.EOF) {
			b.t.Errorf("%s reads %v", what, err)
		}
	case <-b.accepted:
		b.t.Fatalf("%s is accepted", what)
	}
}

func (b *boundedRig) dial() net.Conn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.listener.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// refusals closes the listener, so that every connection it has closed is counted.
func (b *boundedRig) refusals() int {
	_ = b.listener.Close()
	b.serving.Wait()
	return b.refused
}
