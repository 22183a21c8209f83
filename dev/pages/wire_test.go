package pages

import (
	"io"
	"net"
	"sync"
	"testing"
)

// wire is a way to a server that can be cut.
type wire struct {
	address string
	to      string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// newWire listens on a port of its own and passes connections on to an address.
func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	w := &wire{address: listener.Addr().String(), to: to}
	t.Cleanup(func() {
		_ = listener.Close()
		w.set(true)
	})
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go w.pass(from)
		}
	}()

	return w
}

func (w *wire) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer to.Close()

	if !w.keep(from, to) {
		return
	}

	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()

	_, _ = io.Copy(from, to)
}

// keep remembers the two ends of a connection; false: the wire is cut.
func (w *wire) keep(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, ends...)
	return !w.cut
}

// set cuts the wire with all connections, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, end := range w.conns {
			_ = end.Close()
		}
		w.conns = nil
	}
}
