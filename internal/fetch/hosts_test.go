package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
)

// TestHosts checks which hosts another program may be told to connect to.
func TestHosts(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"example.org": {"93.184.216.34"}, "inside.example.org": {"10.0.0.5"}, "both.example.org": {"93.184.216.34", "::1"},
		"mapped.example.org": {"::ffff:127.0.0.1"}, "silent.example.org": nil, "half.example.org": {"93.184.216.34"},
	}
	want := map[string]bool{
		"example.org": true, "down.example.org": true, "93.184.216.34": true, "2606:2800:220:1::1": true, "abc.onion": true,
		"a-z_0-9.org": true, "0.org": true, "9.org": true,
		"inside.example.org": false, "both.example.org": false, "mapped.example.org": false,
		"silent.example.org": false, "half.example.org": false, "cut.example.org": false,
		"127.0.0.1": false, "10.1.2.3": false, "192.168.1.1": false, "172.16.0.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false,
		"::1": false, "fe80::1": false, "fe80::1%eth0": false, "fd00::1": false, "::ffff:10.0.0.1": false, "127.0.0.1.": false,
		"127.1": false, "0x7f.0.0.1": false, "0x7f000001": false, "2130706433": false, "0177.0.0.1": false, "1.0": false, "1.9": false,
		"localhost": false, "LOCALHOST": false, "a.localhost": false, "db": false, "printer.local": false, "Temporal.Internal.": false, "nas.lan": false,
		"": false, ".": false, ".org": false, "a..": false, "１２７.0.0.1": false, "a b.org": false,
	}

	f := New(Options{})
	f.lookup = func(_ context.Context, _, host string) (addresses []netip.Addr, err error) {
		for _, address := range names[host] {
			addresses = append(addresses, netip.MustParseAddr(address))
		}
		switch {
		case host == "cut.example.org":
			err = context.DeadlineExceeded
		case host == "silent.example.org" || host == "half.example.org":
			err = &net.DNSError{Name: host, IsTimeout: true}
		case addresses == nil:
			err = &net.DNSError{Name: host, IsNotFound: true}
		}
		return addresses, err
	}

	var hosts []string
	for host := range want {
		hosts = append(hosts, host)
	}
	got := f.Hosts(t.Context(), hosts)
	for host, may := range want {
		if got[host] != may {
			t.Errorf("%q: got %v", host, got[host])
		}
	}

	for host, may := range New(Options{AllowPrivate: true}).Hosts(t.Context(), hosts) {
		if !may {
			t.Errorf("%q is refused where private addresses are allowed", host)
		}
	}
}

// TestHostLookupsAreBounded refuses the hosts beyond it.
func TestHostLookupsAreBounded(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	f := New(Options{})
	f.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		asked.Add(1)
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}

	var hosts []string
	for i := range maxNames + 5 {
		hosts = append(hosts, fmt.Sprintf("n%d.example.org", i))
	}
	got := f.Hosts(t.Context(), hosts)
	for i, host := range hosts {
		if want := i < maxNames; got[host] != want {
			t.Errorf("%s: %t", host, got[host])
		}
	}
	if asked.Load() != maxNames {
		t.Errorf("%d names were looked up", asked.Load())
	}
}
