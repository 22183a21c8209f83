package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// remote gives the address, with a port, by which the limits count who sends a request. Behind trusted proxies that is
// the last address in X-Forwarded-For that is not one of theirs: each proxy appends the address that it was reached
// from, so that what stands further left may be made up by a client. Without trusted proxies the header counts for
// nothing.
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
			break // the last proxy that can be read stands for whoever is behind it
		}
		client = before
		if !s.trusts(client) {
			break
		}
	}

	return netip.AddrPortFrom(client, 0).String()
}

// trusts says whether an address is that of a trusted proxy.
func (s *Server) trusts(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// forwarded reads an entry of X-Forwarded-For: an address, to which some proxies append the port.
func forwarded(text string) (netip.Addr, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address, nil
	}
	address, err := netip.ParseAddrPort(text)
	return address.Addr(), err
}
