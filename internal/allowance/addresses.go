package allowance

import (
	"net/netip"
	"time"
)

// Addresses limits how many requests one network address may make in this process. It is safe for concurrent use.
type Addresses struct {
	limit string // its name, in refusals
	rate  Rate   // per address; zero: no limit
	rates Rates[netip.Prefix]
}

// NewAddresses makes a limit of this many requests per second; 0: none.
func NewAddresses(limit string, perSecond int) *Addresses {
	return &Addresses{limit: limit, rate: afterPause(perSecond)}
}

// Take counts a request from an address, or refuses it with RATE_LIMITED.
func (a *Addresses) Take(remote string) error {
	if a.rate.Burst == 0 {
		return nil
	}
	return a.refusal(a.rates.Take(Network(remote), a.rate))
}

func (a *Addresses) refusal(wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	return tooMany(a.limit, wait)
}

// Network is what one attacker can use: an IPv4 address, or a /64 IPv6 network. All unknown addresses share one.
func Network(remote string) netip.Prefix {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}

	address := from.Addr().Unmap()
	bits := 32
	if address.Is6() {
		bits = 64
	}

	prefix, err := address.Prefix(bits)
	if err != nil { // with a zone
		prefix, _ = address.WithZone("").Prefix(bits)
	}
	return prefix
}
