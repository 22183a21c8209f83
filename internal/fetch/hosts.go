package fetch

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	lookupTime = 3 * time.Second // for all names together
	lookups    = 16              // at the same time
)

// Hosts returns those of the hosts, names or IP addresses, to which another program may be told to connect: all of them
// with AllowPrivate, else those on the Internet. A name that cannot be looked up now is one of them: a tracker may be
// down. The check is of this moment only, because the program looks the names up again.
func (f *Fetcher) Hosts(ctx context.Context, hosts []string) map[string]bool {
	limited, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()

	leads := make([]bool, len(hosts))
	var group errgroup.Group
	group.SetLimit(lookups)
	for i, host := range hosts {
		if leads[i] = f.o.AllowPrivate || publicHost(host); !leads[i] || f.o.AllowPrivate {
			continue
		}
		group.Go(func() error {
			leads[i] = f.leadsOnlyToPublic(limited, host)
			return nil
		})
	}
	_ = group.Wait() // it returns no errors

	allowed := make(map[string]bool, len(hosts))
	for i, host := range hosts {
		allowed[host] = leads[i]
	}
	return allowed
}

// leadsOnlyToPublic looks a name up.
func (f *Fetcher) leadsOnlyToPublic(ctx context.Context, host string) bool {
	addresses, err := f.lookup(ctx, "ip", host)
	for _, address := range addresses {
		if err == nil && !Public(address) {
			return false
		}
	}
	return true
}

// insideNames are the domains of names that only a private network knows.
var insideNames = []string{"localhost", "local", "internal", "lan", "home", "corp", "intranet", "private", "home.arpa"}

// publicHost says whether a host is an address on the Internet, or a name that may lead there.
func publicHost(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if address, err := netip.ParseAddr(name); err == nil {
		return Public(address)
	}

	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	last := strings.LastIndexByte(name, '.')
	if last <= 0 || strings.ContainsFunc(name, odd) {
		return false // a name without a domain is one of the own network
	}

	// Other forms of an IPv4 address end in a number, such as 127.1 and 0x7f.0.0.1.
	if c := name[last+1:]; c == "" || c[0] >= '0' && c[0] <= '9' {
		return false
	}
	for _, inside := range insideNames {
		if strings.HasSuffix(name, "."+inside) {
			return false
		}
	}
	return true
}
