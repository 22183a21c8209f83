package torrent

import (
	"net/url"
	"strconv"
	"strings"
)

// Without returns a .torrent file without the addresses that keep rejects, and how many were removed: those of
// trackers, web seeds and DHT nodes, to which qBittorrent connects. keep gets an address's host, a name or an IP
// address; an unreadable address is removed without calling it. All other bytes, and so the infohash, stay unchanged.
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
	kept    int
	removed int
}

// maxAddresses is how many addresses one torrent may have; any further ones are removed.
const maxAddresses = 1000

// value copies the value of a key of the outermost dictionary, without what is to be removed.
func (f *filter) value(key string) error {
	switch key {
	case "announce", "announce-list", "url-list", "httpseeds":
		return f.addresses()
	case "nodes":
		return f.nodes()
	default:
		begin := f.at
		err := f.skip()
		f.out = append(f.out, f.data[begin:f.at]...)
		return err
	}
}

// addresses copies an address, or a list of lists of addresses, without lists that become empty.
func (f *filter) addresses() error {
	c, err := f.next()
	switch {
	case err != nil:
		return err
	case c == 'l':
		return f.listOf(f.addresses)
	case c == 'd' || c == 'i': // not an address
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

// nodes copies a list of nodes, each a list of a host and a port.
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

// listOf copies a list whose elements each copies; nothing if it becomes empty.
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

// take copies what was read since begin, unless its host is to be removed.
func (f *filter) take(host string, begin int) {
	if host == "" || f.kept == maxAddresses || !f.keep(host) {
		f.removed++
		return
	}
	f.kept++
	f.out = append(f.out, f.data[begin:f.at]...)
}

// MagnetWithout returns a magnet link without the addresses that keep rejects, and how many were removed: those of
// trackers, web seeds, other sources, peers and DHT nodes. What identifies the torrent stays unchanged; any other
// parameters are removed as well.
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

// hostOfParameter returns the host in a magnet link's parameter, empty if unreadable; address is false for parameters
// that have none.
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

// hostOf returns an address's host; "" if the address is not in the one notation that all programs read alike.
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
