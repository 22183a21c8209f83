package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	lookupTime = 3 * time.Second // for all names together
	lookups    = 16              // at the same time
	maxNames   = 200             // per call
)

// Hosts returns which of the hosts, names or IP addresses, another program may be told to connect to: all of them with
// AllowPrivate, otherwise those on the Internet. A name that does not exist now is included: it leads nowhere. One that
// was not looked up, in time or within maxNames, is not. The check holds only for this moment, because the program
// looks up the names again.
func (f *Fetcher) Hosts(ctx context.Context, hosts []string) map[string]bool {
	limited, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()

	leads := make([]bool, len(hosts))
	names := 0
	var group errgroup.Group
	group.SetLimit(lookups)
	for i, host := range hosts {
		if leads[i] = f.o.AllowPrivate || publicHost(host); !leads[i] || f.o.AllowPrivate {
			continue
		}
		if names++; names > maxNames {
			leads[i] = false
			continue
		}
		group.Go(func() error {
			addresses, err := f.lookup(limited, "ip", host)
			failure, failed := errors.AsType[*net.DNSError](err)
			leads[i] = failed && failure.IsNotFound ||
				err == nil && !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !Public(a) })
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

// insideNames are the domains of names known only to a private network.
var insideNames = []string{"localhost", "local", "internal", "lan", "home", "corp", "intranet", "private", "home.arpa"}

// publicHost reports whether a host is an address on the Internet, or a name that may lead there.
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
		return false // a name without a domain belongs to the local network
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
