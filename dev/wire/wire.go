// Package wire is a way to a server that a test can cut.
package wire

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Wire forwards connections to a server and can be cut.
type Wire struct {
	URL    string // of the server, with the address of the wire
	target string
	mu     sync.Mutex
	isCut  bool
	open   []net.Conn
}

// New makes a wire to the server of a URL, for the time of a test.
func New(t testing.TB, address string) *Wire {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	w := &Wire{target: target.Host}
	target.Host = listener.Addr().String()
	w.URL = target.String()
	t.Cleanup(func() { _ = listener.Close(); w.Cut() })
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			w.forward(conn)
		}
	}()

	return w
}

func (w *Wire) forward(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	far, err := net.Dial("tcp", w.target)
	if w.isCut || err != nil {
		_ = conn.Close()
		return
	}
	w.open = append(w.open, conn, far)
	go func() { _, _ = io.Copy(conn, far); _ = conn.Close() }()
	go func() { _, _ = io.Copy(far, conn); _ = far.Close() }()
}

// Cut ends all connections and takes no new ones.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = true
	for _, conn := range w.open {
		_ = conn.Close()
	}
	w.open = nil
}

// Mend takes new connections again.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = false
}
