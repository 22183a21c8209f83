package fetch

import (
	"encoding/binary"
	"net/netip"
)

// Public reports whether an address is on the Internet: not this machine, not a private network, and not another form
// of such an address.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if a.Is6() && (a.Zone() != "" || !internet6.Contains(a)) {
		return false
	}
	if isISATAP(a) {
		return false
	}
	for _, block := range reserved {
		if block.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate()
}

// isISATAP reports whether an IPv6 address, in any prefix, contains an IPv4 address to which a router forwards its
// packets.
func isISATAP(a netip.Addr) bool {
	const universal = 0x0200_0000 // set where the IPv4 address is declared unique

	b := a.As16()
	return binary.BigEndian.Uint32(b[8:])&^universal == 0x5efe
}

// internet6 is the assigned part of IPv6.
var internet6 = netip.MustParsePrefix("2000::/3")

// reserved are the blocks of IANA's special-purpose registries that netip lacks, and an address that a cloud gives the
// same role. A network may answer anycast ones with a machine of its own.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),    // shared by a provider's customers
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's platform: DNS, and a virtual machine's agent
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.31.196.0/24"), // anycast: AS112
	netip.MustParsePrefix("192.52.193.0/24"), // anycast: multicast tunnels
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.175.48.0/24"), // anycast: AS112
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // Teredo, whose addresses contain an IPv4 address, and others
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),         // 6to4: contain an IPv4 address
	netip.MustParsePrefix("2620:4f:8000::/48"), // anycast: AS112
	netip.MustParsePrefix("3fff::/20"),
}
