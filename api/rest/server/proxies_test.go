package server

import (
	"net/http"
	"net/netip"
	"testing"
)

// TestRemote forges X-Forwarded-For in every way: entries that no trusted proxy has written are ignored.
func TestRemote(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48"), netip.MustParsePrefix("192.0.2.7/32")}
	for _, c := range []struct {
		name      string
		from      string
		forwarded []string
		want      string
	}{
		{"no proxy", "203.0.113.9:4711", nil, "203.0.113.9:4711"},
		{"a client that forges", "203.0.113.9:4711", []string{"198.51.100.1"}, "203.0.113.9:4711"},
		{"a client that names a proxy", "203.0.113.9:4711", []string{"198.51.100.1, 10.0.0.1"}, "203.0.113.9:4711"},
		{"a neighbour of a proxy", "192.0.2.8:1", []string{"198.51.100.1"}, "192.0.2.8:1"},

		{"a proxy", "10.0.0.1:1", []string{"203.0.113.9"}, "203.0.113.9:0"},
		{"a proxy, and a client that forges", "10.0.0.1:1", []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9:0"},
		{"in a header of its own", "10.0.0.1:1", []string{"198.51.100.1", "203.0.113.9"}, "203.0.113.9:0"},
		{"who forges a proxy, too", "10.0.0.1:1", []string{"198.51.100.1, 10.0.0.2, 203.0.113.9"}, "203.0.113.9:0"},
		{"two proxies", "10.0.0.1:1", []string{"203.0.113.9, 192.0.2.7"}, "203.0.113.9:0"},
		{"proxies alone", "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3:0"},
		{"a proxy that says nothing", "10.0.0.1:1", nil, "10.0.0.1:0"},
		{"a proxy that says nonsense", "10.0.0.1:1", []string{"203.0.113.9, unknown"}, "10.0.0.1:0"},
		{"nonsense of a client", "10.0.0.1:1", []string{"nonsense, 203.0.113.9"}, "203.0.113.9:0"},
		{"an empty entry", "10.0.0.1:1", []string{"203.0.113.9,"}, "10.0.0.1:0"},
		{"a port", "10.0.0.1:1", []string{"203.0.113.9:55"}, "203.0.113.9:0"},

		{"IPv6", "[2001:db8:1::1]:1", []string{"2001:db8:2::9"}, "[2001:db8:2::9]:0"},
		{"IPv6 with a port", "[2001:db8:1::1]:1", []string{"[2001:db8:2::9]:55"}, "[2001:db8:2::9]:0"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:1", []string{"203.0.113.9, ::ffff:10.0.0.2"}, "203.0.113.9:0"},
		{"in this process", "", []string{"203.0.113.9"}, ""},
	} {
		s := &Server{Config: Config{TrustedProxies: trusted}}
		r := &http.Request{RemoteAddr: c.from, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := s.remote(r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := (&Server{}).remote(r); got != c.from {
			t.Errorf("%s, without trusted proxies: %s", c.name, got)
		}
	}
}
