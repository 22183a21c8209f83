package bot

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// wire forwards connections to PostgreSQL and can be cut.
type wire struct {
	url    string
	target string
	mu     sync.Mutex
	isCut  bool
	open   []net.Conn
}

func newWire(t *testing.T, address string) *wire {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	w := &wire{target: target.Host}
	target.Host = listener.Addr().String()
	w.url = target.String()
	t.Cleanup(func() { _ = listener.Close(); w.cut() })
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			w.carry(conn)
		}
	}()

	return w
}

func (w *wire) carry(conn net.Conn) {
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

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = true
	for _, conn := range w.open {
		_ = conn.Close()
	}
	w.open = nil
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = false
}
