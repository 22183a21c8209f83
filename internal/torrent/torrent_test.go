package torrent

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

const (
	v1 = "0123456789abcdef0123456789abcdef01234567"
	v2 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// filled makes an address of this length.
func filled(begin string, size int) string { return begin + strings.Repeat("a", size-len(begin)) }

func TestParseSource(t *testing.T) {
	t.Parallel()
	raw := sha1.Sum([]byte("x"))
	hash := fmt.Sprintf("%x", raw)
	in32 := base32.StdEncoding.EncodeToString(raw[:])

	for link, want := range map[string]Source{
		"magnet:?xt=urn:btih:" + v1: {true, Identity{V1: v1}},
		"magnet:?dn=a;b&xt=urn:btih:" + strings.ToUpper(v1) + "&tr=http%3A%2F%2Ft%2Fa": {true, Identity{V1: v1}},
		"MAGNET:?xt=URN:BTIH:" + in32:                                                    {true, Identity{V1: hash}},
		"magnet:?xt=urn:btih:" + strings.ToLower(in32):                                   {true, Identity{V1: hash}},
		"magnet:?xt=urn:btmh:1220" + v2:                                                  {true, Identity{V2: v2}},
		"magnet:?xt=urn:btih:" + v1 + "&xt=urn:btmh:1220" + v2:                           {true, Identity{v1, v2}},
		"magnet:?xt=urn:ed2k:31D6CFE0D16AE931B73C59D7E0C089C0&xt=urn:btih:" + v1:         {true, Identity{V1: v1}},
		"magnet:?xt=urn:btih:" + v1 + "&xt=urn:btih:" + v1 + "&dn=%zz&tr=udp://t:1/a%2F": {true, Identity{V1: v1}},
		"https://example.org/a.torrent?key=1":                                            {},
		filled("https://example.org/", MaxLink):                                          {},
		"HTTP://user:word@example.org:8080/download/5":                                   {},
	} {
		got, err := ParseSource(link)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", link, got, err, want)
		}
	}

	for _, link := range []string{
		"", " ", "x", "magnet:", "magnet:?dn=x", "magnet:?xt=urn:btih:", "magnet:?xt=urn:btih:" + v1[1:],
		"magnet:?xt=urn:btih:" + v1[1:] + "g",
		"magnet:?xt=urn:btmh:1114" + v2, "magnet:?xt=urn:btmh:1220" + v2[2:], "magnet:?xt=urn:btmh:" + v2,
		"magnet:?xt=urn:btih:" + v1 + "&xt=urn:btmh:1220" + v2[2:],
		"magnet:?xt=urn:btmh:1220" + v2 + "&xt=urn:btmh:1220" + v2[2:] + "00",
		"magnet:?xt=urn:btih:" + v1 + "&xt=urn:btih:" + hash, "magnet:?xt=urn:sha1:" + in32,
		"magnet:?xt=urn:btih:" + v1 + "\nhttp://example.org/b.torrent", "http://example.org/a b", "http:///a.torrent",
		"http://%zz/",
		"ftp://example.org/a.torrent", "file:///etc/passwd", "//example.org/a", "http://example.org/\x00",
		filled("http://example.org/", MaxLink+1),
		"http://example.org/\xff",
	} {
		got, err := ParseSource(link)
		if f := fault.As(err); f == nil || f.Code != fault.Validation || f.Field != "source_url" {
			t.Errorf("%q: got %+v, %v", link, got, err)
		}
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	plain := "d6:lengthi5e4:name1:a12:piece lengthi16384e6:pieces20:" + strings.Repeat("p", 20) + "e"
	tree := "9:file treed1:ad0:d6:lengthi5e11:pieces root32:" + strings.Repeat("r", 32) + "eee"
	pure := "d" + tree + "12:meta versioni2e4:name1:a12:piece lengthi16384ee"
	hybrid := "d" + tree + "6:lengthi5e12:meta versioni2e4:name1:a12:piece lengthi16384e6:pieces20:" + strings.Repeat(
		"p", 20,
	) + "e"

	sum1 := func(info string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(info))) }
	sum2 := func(info string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(info))) }
	for info, want := range map[string]Identity{
		plain: {V1: sum1(plain)}, pure: {V2: sum2(pure)}, hybrid: {sum1(hybrid), sum2(hybrid)},
	} {
		got, size, err := Identify([]byte("d8:announce10:http://t/a4:info" + info + "8:url-list9:http://w/e"))
		if err != nil || got != want || size != 5 {
			t.Errorf("%s: got %+v, %d bytes, %v; want %+v", info, got, size, err, want)
		}
	}
	for _, end := range []string{"\n", "\r\n", "\r\n\r\n", " ", "\t\n"} {
		if got, _, err := Identify([]byte("d4:info" + plain + "e" + end)); err != nil || got.V1 != sum1(plain) {
			t.Errorf("with %q behind it: %+v, %v", end, got, err)
		}
	}

	for name, file := range map[string]string{
		"nothing": "", "a page": "<!DOCTYPE html><html>", "cut": "d4:info" + plain[:40], "no info": "d8:announce10:http://t/ae",
		"an empty info": "d4:infodee", "something behind": "d4:info" + plain + "ex", "no pieces": "d4:infod4:name1:aee",
		"a huge string": "d4:info999999999999:", "a negative one": "d4:info-5:", "deep": strings.Repeat("l", 10<<20),
		"deep dictionaries": "d4:info" + strings.Repeat("d1:a", 1<<20), "deep tree": "d4:infod9:file tree" + strings.Repeat("d1:a", 1<<20),
	} {
		if got, _, err := Identify([]byte(file)); fault.CodeOf(err) != fault.SourceNotTorrent {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// TestLimitsOfContent describes as much as is allowed in a torrent, and slightly more, in both versions.
func TestLimitsOfContent(t *testing.T) {
	t.Parallel()
	text := func(s string) string { return fmt.Sprintf("%d:%s", len(s), s) }
	file := func(length int64, parts ...string) string {
		path := ""
		for _, part := range parts {
			path += text(part)
		}
		return fmt.Sprintf("d6:lengthi%de4:pathl%see", length, path)
	}
	listed := func(name string, files ...string) string {
		return "5:filesl" + strings.Join(files, "") + "e4:name" + text(name) + "12:piece lengthi16384e6:pieces20:" + strings.Repeat("p", 20)
	}
	tree := func(inner string) string {
		return "9:file tree" + inner + "12:meta versioni2e4:name1:a12:piece lengthi16384e"
	}
	leaf := func(length int64) string { return fmt.Sprintf("d0:d6:lengthi%deee", length) }
	nested := func(depth int) string {
		return strings.Repeat("d1:a", depth) + leaf(1) + strings.Repeat("e", depth)
	}
	var many, leaves strings.Builder
	for i := range MaxFiles {
		many.WriteString(file(0, "a"))
		leaves.WriteString(text(fmt.Sprintf("%05d", i)) + leaf(0))
	}

	for name, c := range map[string]struct {
		most, more string
		size       int64
	}{
		"files": {listed("a", many.String()), listed("a", many.String(), file(0, "a")), 0},
		"files of version 2": {
			tree("d" + leaves.String() + "e"), tree("d" + leaves.String() + "1:z" + leaf(0) + "e"), 0,
		},
		"bytes":              {listed("a", file(MaxSize, "a")), listed("a", file(MaxSize, "a"), file(1, "b")), MaxSize},
		"bytes of version 2": {tree("d1:a" + leaf(MaxSize) + "e"), tree("d1:a" + leaf(MaxSize+1) + "e"), MaxSize},
		"bytes of one file": {
			"6:lengthi1099511627776e4:name1:a12:piece lengthi16384e6:pieces20:" + strings.Repeat("p", 20),
			"6:lengthi9223372036854775000e4:name1:a12:piece lengthi16384e6:pieces20:" + strings.Repeat("p", 20), MaxSize,
		},
		"sums": {
			listed("a", file(1, "a")), listed("a", file(9223372036854775000, "a"), file(9223372036854775000, "b")), 1,
		},
		"a path": {
			listed("name", file(1, "a", strings.Repeat("b", maxPath-len("name/a/")))),
			listed("name", file(1, "a", strings.Repeat("b", maxPath-len("name/a/")+1))), 1,
		},
		"folders":              {listed("a", file(1, slices.Repeat([]string{"a"}, maxNested)...)), listed("a", file(1, slices.Repeat([]string{"a"}, maxNested+1)...)), 1},
		"folders of version 2": {tree(nested(maxNested)), tree(nested(maxNested + 1)), 1},
	} {
		if _, size, err := Identify([]byte("d4:infod" + c.most + "ee")); err != nil || size != c.size {
			t.Errorf("%s: as much as is allowed: %d bytes, %v", name, size, err)
		}
		if _, _, err := Identify([]byte("d4:infod" + c.more + "ee")); fault.CodeOf(err) != fault.TorrentTooLarge {
			t.Errorf("%s: more than is allowed: %v", name, err)
		}
	}
}

// TestManyAddresses keeps a bounded number of addresses, even of one host.
func TestManyAddresses(t *testing.T) {
	t.Parallel()
	file := "d8:url-listl" + strings.Repeat("10:http://w/a", maxAddresses+5) + "e4:infod6:lengthi5e4:name1:a12:piece lengthi16384e6:pieces20:" +
		strings.Repeat("p", 20) + "ee"
	clean, removed, err := Without([]byte(file), func(string) bool { return true })
	if err != nil || removed != 5 || strings.Count(string(clean), "http://") != maxAddresses {
		t.Errorf("%d taken out, %d left, %v", removed, strings.Count(string(clean), "http://"), err)
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add([]byte("d4:infod6:lengthi5e4:name1:a12:piece lengthi16384e6:pieces20:ppppppppppppppppppppee"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if id, _, err := Identify(file); (err == nil) == (id == Identity{}) {
			t.Errorf("got %+v, %v", id, err)
		}
	})
}

// TestTidy escapes what is not allowed in a link, once.
func TestTidy(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		" magnet:?xt=urn:btih:a&dn=A B\r\n":  "magnet:?xt=urn:btih:a&dn=A%20B",
		"https://x.example/a\u00a0b\u3000c":  "https://x.example/a%20b%20c",
		"https://x.example/100%":             "https://x.example/100%25",
		"https://x.example/100%real/%2f%zz":  "https://x.example/100%25real/%2f%25zz",
		"https://x.example/A [2020].torrent": "https://x.example/A%20[2020].torrent",
		"https://x.example/a\nb":             "https://x.example/a\nb",
		"":                                   "",
	} {
		if got := Tidy(link); got != want || Tidy(got) != got {
			t.Errorf("%q: %q, and again %q", link, got, Tidy(got))
		}
	}
}
