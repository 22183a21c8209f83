package torrent

import (
	"net/url"
	"strconv"
	"strings"
)

// Without returns a .torrent file without the addresses for which keep says false, and how many were taken out: those
// of trackers, web seeds and nodes of the DHT, which qBittorrent connects to. keep gets the host of an address, a name
// or an IP address; an address that cannot be read is taken out unasked. All other bytes stay as they are, so that the
// infohash stays.
func Without(file []byte, keep func(host string) bool) (clean []byte, removed int, err error) {
	f := &filter{reader: reader{data: file}, out: make([]byte, 0, len(file)), keep: keep}
	f.out = append(f.out, 'd')
	err = f.dictionary(func(key []byte) error {
		begin := len(f.out)
		f.out = append(strconv.AppendInt(f.out, int64(len(key)), 10), ':')
		f.out = append(f.out, key...)

		value := len(f.out)
		if err := f.value(string(key)); err != nil {
			return err
		}
		if len(f.out) == value { // nothing is left of it
			f.out = f.out[:begin]
		}
		return nil
	})
	if err != nil {
		return nil, 0, notTorrent(err)
	}
	if f.removed == 0 {
		return file, 0, nil
	}

	return append(f.out, 'e'), f.removed, nil
}

// filter copies a .torrent file.
type filter struct {
	reader
	out     []byte
	keep    func(host string) bool
	removed int
}

// value copies the value of a key of the outermost dictionary, without what is to be taken out of it.
func (f *filter) value(key string) error {
	switch key {
	case "announce", "announce-list", "url-list", "httpseeds":
		return f.addresses()
	case "nodes":
		return f.nodes()
	default:
		return f.copy()
	}
}

// addresses copies an address, or a list of lists of addresses, without lists of which nothing is left.
func (f *filter) addresses() error {
	c, err := f.next()
	switch {
	case err != nil:
		return err
	case c == 'l':
		return f.listOf(f.addresses)
	case c == 'd' || c == 'i': // no address
		f.removed++
		return f.skip()
	}

	begin := f.at
	address, err := f.text()
	if err != nil {
		return err
	}
	f.take(hostOf(string(address)), begin)
	return nil
}

// nodes copies a list of nodes: each is a list of a host and a port.
func (f *filter) nodes() error {
	return f.listOf(func() error {
		begin, host := f.at, ""
		err := f.list(func() error {
			if c, _ := f.next(); host != "" || c == 'i' || c == 'l' || c == 'd' {
				return f.skip()
			}
			text, err := f.text()
			host = string(text)
			return err
		})
		if err == nil {
			f.take(strings.Trim(host, "[]"), begin)
		}
		return err
	})
}

// listOf copies a list whose elements each copies; nothing at all when nothing is left of it.
func (f *filter) listOf(each func() error) error {
	begin := len(f.out)
	f.out = append(f.out, 'l')
	if err := f.list(each); err != nil {
		return err
	}

	if len(f.out) == begin+1 {
		f.out = f.out[:begin]
		return nil
	}
	f.out = append(f.out, 'e')
	return nil
}

// copy copies a value as it is.
func (f *filter) copy() error {
	begin := f.at
	err := f.skip()
	f.out = append(f.out, f.data[begin:f.at]...)
	return err
}

// take copies what was read since begin, unless its host is to be taken out.
func (f *filter) take(host string, begin int) {
	if host == "" || !f.keep(host) {
		f.removed++
		return
	}
	f.out = append(f.out, f.data[begin:f.at]...)
}

// MagnetWithout returns a magnet link without the addresses for which keep says false, and how many were taken out:
// those of trackers, web seeds, other sources, peers and nodes of the DHT. What names the torrent stays as it is;
// parameters that are neither are taken out as well.
func MagnetWithout(link string, keep func(host string) bool) (clean string, removed int) {
	scheme, query, _ := strings.Cut(link, "?")
	var kept []string
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		if host, address := hostOfParameter(name, value); address && (host == "" || !keep(host)) {
			removed++
			continue
		}
		kept = append(kept, parameter)
	}

	if removed == 0 {
		return link, 0
	}
	return scheme + "?" + strings.Join(kept, "&"), removed
}

// hostOfParameter returns the host of a parameter of a magnet link, which is empty when it cannot be read; address is
// false for parameters that have none.
func hostOfParameter(name, value string) (host string, address bool) {
	name = strings.ToLower(name)
	text, err := url.QueryUnescape(value)

	switch base, _, _ := strings.Cut(name, "."); { // a number may follow, as in tr.1
	case base == "xt" || base == "dn" || base == "xl" || base == "so" || base == "kt" || base == "":
		return "", false
	case err != nil:
		return "", true
	case name == "x.pe" || base == "dht":
		return hostOf("peer://" + text), true
	default:
		return hostOf(text), true
	}
}

// hostOf returns the host of an address; "" when the address is not written in the one way that all programs read
// alike.
func hostOf(address string) string {
	address = strings.TrimSpace(address)
	_, rest, found := strings.Cut(address, "://")
	authority, _, _ := strings.Cut(rest, "/")
	if !found || strings.ContainsAny(authority, `?#\`) || strings.Count(authority, "@") > 1 {
		return ""
	}

	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
