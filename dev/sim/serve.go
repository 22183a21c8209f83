package sim

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Start serves h on addr ("127.0.0.1:0" for a free port). It returns the base URL and a function that stops the server
// and waits until no handler runs.
func Start(addr string, h http.Handler) (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("listen on %s: %w", addr, err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.RWMutex // read-locked by every handler, so that stop can wait for all of them
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       limitBuffer,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running.RLock()
			defer running.RUnlock()
			h.ServeHTTP(w, r)
		}),
	}

	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) }) // always ends with ErrServerClosed
	stop = sync.OnceFunc(func() {
		cancel() // ends long polls and held connections, which would outlast the timeout
		grace, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		_ = server.Shutdown(grace)
		_ = server.Close()
		served.Wait()
		running.Lock()
		defer running.Unlock()
	})

	return "http://" + listener.Addr().String(), stop, nil
}

// limitBuffer keeps the kernel from taking megabytes of an upload that a fault will cut: the client must see the cut
// mid-body.
func limitBuffer(ctx context.Context, conn net.Conn) context.Context {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(256 << 10) // without the limit a fault is noticed later
	}
	return ctx
}
