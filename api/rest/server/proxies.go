package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// remote returns the client address, with a port, that rate limits use. Behind trusted proxies that is the last address
// in X-Forwarded-For that is not a trusted proxy's: each proxy appends the address of its peer, so a client can forge
// everything further left. Without trusted proxies the header is ignored.
func (s *Server) remote(r *http.Request) string {
	connected, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !s.trusts(connected.Addr()) {
		return r.RemoteAddr
	}

	client := connected.Addr()
	named := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(named) {
		before, err := forwarded(strings.TrimSpace(text))
		if err != nil {
			break // fall back to the last readable proxy
		}
		client = before
		if !s.trusts(client) {
			break
		}
	}

	return netip.AddrPortFrom(client, 0).String()
}

// trusts reports whether an address belongs to a trusted proxy.
func (s *Server) trusts(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// forwarded parses an entry of X-Forwarded-For: an address, to which some proxies append the port.
func forwarded(text string) (netip.Addr, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address, nil
	}
	address, err := netip.ParseAddrPort(text)
	return address.Addr(), err
}
