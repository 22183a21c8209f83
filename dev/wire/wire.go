// Package wire is a connection to a server that a test can cut, or make hang.
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
	flow   sync.RWMutex // locked: nothing gets through
}

// New returns a wire to the server of a URL, for the duration of a test.
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
	for _, way := range [][2]net.Conn{{conn, far}, {far, conn}} {
		go func() { _, _ = io.Copy(gate{way[0], w}, way[1]); _ = way[0].Close() }()
	}
}

// gate is one end of a connection, which gets nothing while the wire hangs.
type gate struct {
	io.Writer
	wire *Wire
}

func (g gate) Write(b []byte) (int, error) {
	g.wire.flow.RLock()
	defer g.wire.flow.RUnlock()
	return g.Writer.Write(b)
}

// Hang lets nothing through until resume is called: connections are accepted, and stay silent, as with a frozen server.
func (w *Wire) Hang() (resume func()) {
	w.flow.Lock()
	return w.flow.Unlock
}

// Cut closes all connections and accepts no new ones.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = true
	for _, conn := range w.open {
		_ = conn.Close()
	}
	w.open = nil
}

// Mend accepts new connections again.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = false
}
