package torrent

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

const (
	v1 = "0123456789abcdef0123456789abcdef01234567"
	v2 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// filled makes an address so long.
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
		got, err := Identify([]byte("d8:announce10:http://t/a4:info" + info + "8:url-list9:http://w/e"))
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", info, got, err, want)
		}
	}

	for name, file := range map[string]string{
		"nothing": "", "a page": "<!DOCTYPE html><html>", "cut": "d4:info" + plain[:40], "no info": "d8:announce10:http://t/ae",
		"an empty info": "d4:infodee", "something behind": "d4:info" + plain + "ex", "no pieces": "d4:infod4:name1:aee",
		"a huge string": "d4:info999999999999:", "a negative one": "d4:info-5:", "deep": strings.Repeat("l", 10<<20),
		"deep dictionaries": "d4:info" + strings.Repeat("d1:a", 1<<20), "deep tree": "d4:infod9:file tree" + strings.Repeat("d1:a", 1<<20),
	} {
		if got, err := Identify([]byte(file)); fault.CodeOf(err) != fault.SourceNotTorrent {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add([]byte("d4:infod6:lengthi5e4:name1:a12:piece lengthi16384e6:pieces20:ppppppppppppppppppppee"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if id, err := Identify(file); (err == nil) == (id == Identity{}) {
			t.Errorf("got %+v, %v", id, err)
		}
	})
}
