package servers

import (
	"net"
	"testing"
)

func TestFreePort(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 50 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d was returned twice", port)
		}

		seen[port] = true
		if port < firstPort || port >= lastPort {
			t.Errorf("port %d is outside of %d–%d", port, firstPort, lastPort)
		}
	}
}

func TestPreferPort(t *testing.T) {
	t.Parallel()
	free, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := PreferPort(free); err != nil || got != free {
		t.Errorf("PreferPort(%d) = %d, %v; want the same port", free, got, err)
	}

	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		busy := l.Addr().(*net.TCPAddr).Port
		if got, err := PreferPort(busy); err != nil || got == busy || got == 0 {
			t.Errorf("PreferPort(%d), busy on %s, = %d, %v; want another port", busy, address, got, err)
		}
	}
}
