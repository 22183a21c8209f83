package parts_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"stagecoach/dev/night"
)

const (
	mostQueries = 8      // of a first view
	mostBytes   = 60_000 // over the wire, with script and style
)

// TestPagesAreCheap opens each page with an empty browser cache, on a process that has just started, and counts the
// statements to PostgreSQL and the bytes over the wire.
func TestPagesAreCheap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	found := r.both()
	for route, paths := range found.pages {
		for i, path := range paths {
			if i > 0 && !night.Enabled() || strings.Contains(path, "?") && i > 2 || i > 5 {
				continue // the first ones are the page itself, and entities in several states
			}
			r.cheap(route, path)
		}
	}
	for _, path := range paths {
		r.cheap(path, path)
	}
}

// cheap measures first views by a user and by an administrator.
func (r *rig) cheap(route, path string) {
	for _, who := range []string{"ada", "admin"} {
		r.Run(who+" "+path, func(t *testing.T) {
			once := *r
			once.T = t
			once.measure(route, path, who)
		})
	}
}

func (r *rig) measure(route, path, who string) {
	counter := newCounter(r.T, r.address)
	v := r.visit(r.serve(r.open(counter.address)), who)
	counter.queries.Store(0)
	got := v.get(path)
	queries := counter.queries.Load()
	if got.status != http.StatusOK {
		return // not for this person: another test covers that
	}

	size := v.weigh(path)
	r.Logf("%d queries, %d bytes", queries, size)
	if queries > mostQueries {
		r.Errorf("a first view of %s costs %d queries, at most %d are allowed", route, queries, mostQueries)
	}
	if size > mostBytes {
		r.Errorf("a first view of %s has %d bytes, at most %d are allowed", route, size, mostBytes)
	}
}

var asset = regexp.MustCompile(`(?:src|href)="(/static/[^"]*)"`)

// weigh returns the size in bytes of a page's first view, including its assets.
func (v *visitor) weigh(path string) (size int) {
	v.Helper()
	page := v.fetch(path)
	seen := map[string]bool{}
	for _, match := range asset.FindAllStringSubmatch(page.text, -1) {
		if !seen[match[1]] {
			seen[match[1]] = true
			size += v.fetch(match[1]).wire
		}
	}
	return size + page.wire
}

// fetch requests a page as browsers do, accepting compression.
func (v *visitor) fetch(path string) answer {
	v.Helper()
	request, err := http.NewRequestWithContext(v.Context(), http.MethodGet, v.base+path, nil)
	v.must(err)
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := v.client.Do(request)
	v.must(err)
	defer response.Body.Close()

	raw, err := io.ReadAll(response.Body)
	v.must(err)
	text := string(raw)
	if response.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(strings.NewReader(text))
		v.must(err)
		plain, err := io.ReadAll(unpacked)
		v.must(err)
		text = string(plain)
	}
	return answer{status: response.StatusCode, text: text, wire: len(raw)}
}

// counter counts the statements sent to PostgreSQL, including each one of a batch.
type counter struct {
	address string // of the database, through the counter
	queries atomic.Int64
}

func newCounter(t *testing.T, address string) *counter {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = listener.Close() })
	c, host := &counter{}, target.Host
	target.Host = listener.Addr().String()
	c.address = target.String()

	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", host)
			if err != nil {
				_ = near.Close()
				continue
			}
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
			go func() { c.forward(far, near); _ = far.Close() }()
		}
	}()

	return c
}

// forward passes on what a client sends: the first message has no type, an E executes a statement, and a Q has one in
// plain text. A pool checks an idle connection with an empty Q.
func (c *counter) forward(to io.Writer, from io.Reader) {
	for head := make([]byte, 4); ; head = make([]byte, 5) {
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}

		body := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if kind := head[0]; len(head) == 5 && (kind == 'E' || kind == 'Q' && !bytes.HasPrefix(body, []byte("-- ping"))) {
			c.queries.Add(1)
		}
		if _, err := to.Write(append(head, body...)); err != nil {
			return
		}
	}
}
