package fetch

import "net/netip"

// Public says whether an address is on the Internet: not of this machine, not of a private network, and not another
// form of such an address.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if a.Is6() && (a.Zone() != "" || !internet6.Contains(a)) {
		return false
	}
	for _, block := range reserved {
		if block.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate()
}

// internet6 is the assigned part of IPv6.
var internet6 = netip.MustParsePrefix("2000::/3")

// reserved are the blocks of IANA's special-purpose registries that netip does not have.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by the customers of a provider
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // Teredo, whose addresses contain one of IPv4, and others
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4: they contain one of IPv4
	netip.MustParsePrefix("3fff::/20"),
}
