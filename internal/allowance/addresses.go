package allowance

import (
	"net/netip"
	"sync"
	"time"
)

const remembered = 20_000 // addresses, and tokens: some megabytes

// Addresses bounds how many requests one network address may make in this process. It is safe for concurrent use.
type Addresses struct {
	limit     string // its name, in refusals
	perSecond int

	mu    sync.Mutex
	whole map[netip.Prefix]time.Time // when the allowance of an address is full again
}

// NewAddresses makes the bound of so many requests per second; 0: none.
func NewAddresses(limit string, perSecond int) *Addresses {
	return &Addresses{limit: limit, perSecond: perSecond, whole: map[netip.Prefix]time.Time{}}
}

// Take counts a request of an address, or refuses it with RATE_LIMITED.
func (a *Addresses) Take(remote string) error {
	if err := a.check(remote); err != nil {
		return err
	}
	a.spend(remote)
	return nil
}

// check refuses an address whose allowance is used up.
func (a *Addresses) check(remote string) error {
	if a.perSecond == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait := time.Until(a.whole[Network(remote)].Add(a.one() - burst*time.Second)); wait > 0 {
		return tooMany(a.limit, wait)
	}
	return nil
}

// spend counts a request of an address.
func (a *Addresses) spend(remote string) {
	if a.perSecond == 0 {
		return
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	from, now := Network(remote), time.Now()
	makeRoom(a.whole, now)
	begin := a.whole[from]
	if begin.Before(now) {
		begin = now
	}

	a.whole[from] = begin.Add(a.one())
}

// one is the time that a request takes from the allowance.
func (a *Addresses) one() time.Duration { return time.Second / time.Duration(a.perSecond) }

// makeRoom drops expired entries of a full memory, and all entries when too many are left: limits by address do not
// stop a flood from so many addresses, and a valid token is soon stored again.
func makeRoom[K comparable](memory map[K]time.Time, now time.Time) {
	if len(memory) < remembered {
		return
	}

	for key, until := range memory {
		if until.Before(now) {
			delete(memory, key)
		}
	}

	if len(memory) >= remembered {
		clear(memory)
	}
}

// Network is what one attacker can use: an IPv4 address, or an IPv6 network of 64 bits. All unknown addresses share
// one.
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
