package torrent

import (
	"slices"
	"strings"
	"testing"
)

const plainInfo = "d6:lengthi5e4:name1:a12:piece lengthi16384e6:pieces20:ppppppppppppppppppppe"

// except keeps all hosts but one, and records those it was called with.
func except(asked *[]string, private string) func(string) bool {
	return func(host string) bool {
		*asked = append(*asked, host)
		return host != private
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	const bad, good = "22:http://10.0.0.1:80/ann", "19:http://example.org/"
	for name, c := range map[string]struct{ file, want string }{
		"nothing":          {"d8:announce" + good + "4:info" + plainInfo + "e", "d8:announce" + good + "4:info" + plainInfo + "e"},
		"a tracker":        {"d8:announce" + bad + "4:info" + plainInfo + "e", "d4:info" + plainInfo + "e"},
		"one of a tier":    {"d13:announce-listll" + bad + good + "ee4:info" + plainInfo + "e", "d13:announce-listll" + good + "ee4:info" + plainInfo + "e"},
		"a tier":           {"d13:announce-listll" + bad + "el" + good + "ee4:info" + plainInfo + "e", "d13:announce-listll" + good + "ee4:info" + plainInfo + "e"},
		"all tiers":        {"d13:announce-listll" + bad + "ee4:info" + plainInfo + "e", "d4:info" + plainInfo + "e"},
		"a web seed":       {"d4:info" + plainInfo + "8:url-list" + bad + "e", "d4:info" + plainInfo + "e"},
		"web seeds":        {"d4:info" + plainInfo + "8:url-listl" + bad + good + "ee", "d4:info" + plainInfo + "8:url-listl" + good + "ee"},
		"http seeds":       {"d9:httpseedsl" + bad + good + "e4:info" + plainInfo + "e", "d9:httpseedsl" + good + "e4:info" + plainInfo + "e"},
		"a node":           {"d4:info" + plainInfo + "5:nodesll8:10.0.0.1i1eel7:1.2.3.4i1eeee", "d4:info" + plainInfo + "5:nodesll7:1.2.3.4i1eeee"},
		"a node of two":    {"d4:info" + plainInfo + "5:nodesll8:10.0.0.17:1.2.3.4eee", "d4:info" + plainInfo + "e"},
		"twice":            {"d8:announce" + good + "8:announce" + bad + "4:info" + plainInfo + "e", "d8:announce" + good + "4:info" + plainInfo + "e"},
		"no address":       {"d8:announce5:hello4:info" + plainInfo + "e", "d4:info" + plainInfo + "e"},
		"other keys stay":  {"d8:announce" + bad + "7:comment" + bad + "4:info" + plainInfo + "e", "d7:comment" + bad + "4:info" + plainInfo + "e"},
		"a strange length": {"d08:announce0" + bad + "4:info" + plainInfo + "e", "d4:info" + plainInfo + "e"},
	} {
		before, _, err := Identify([]byte(c.file))
		if err != nil {
			t.Fatal(name, err)
		}

		var asked []string
		clean, removed, err := Without([]byte(c.file), except(&asked, "10.0.0.1"))
		if err != nil || string(clean) != c.want || (removed > 0) != (c.file != c.want) {
			t.Errorf("%s: got %s, %d, %v; want %s", name, clean, removed, err, c.want)
		}
		if after, _, err := Identify(clean); err != nil || after != before {
			t.Errorf("%s: another torrent: %v, %v", name, after, err)
		}
	}
}

// TestOneHost has addresses whose host other programs read differently: they are removed without a call.
func TestOneHost(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://example.org:80/a": "example.org", "udp://1.2.3.4:6969": "1.2.3.4", "http://[::1]/a": "::1", " http://example.org/My file/": "example.org",
		"http://user:word@example.org/a": "example.org",
		"http://1.2.3.4#a:b@10.0.0.1/a":  "", "http://1.2.3.4?a:b@10.0.0.1/a": "", `http://1.2.3.4\@10.0.0.1/`: "",
		"http://a:b@10.0.0.1:80@1.2.3.4/a": "", "http://%31%30.0.0.1/": "", "10.0.0.1": "", "//10.0.0.1/a": "", "": "", "http:///a": "",
	} {
		if got := hostOf(address); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

func TestMagnetWithout(t *testing.T) {
	t.Parallel()
	const named = "magnet:?xt=urn:btih:" + v1 + "&dn=a%20b&xl=5"
	for link, want := range map[string]string{
		named: named,
		named + "&tr=http%3A%2F%2Fexample.org%2Fa":                                        named + "&tr=http%3A%2F%2Fexample.org%2Fa",
		named + "&tr=http%3A%2F%2F10.0.0.1%2Fa":                                           named,
		named + "&TR.1=udp://10.0.0.1:1&tr.2=udp://example.org:1":                         named + "&tr.2=udp://example.org:1",
		named + "&ws=http://10.0.0.1/a&xs=http://10.0.0.1/b&as=http%3a%2f%2f10.0.0.1%2fc": named,
		named + "&x.pe=10.0.0.1:6881&dht=10.0.0.1:6881":                                   named,
		named + "&x.pe=1.2.3.4:6881&dht=1.2.3.4:6881":                                     named + "&x.pe=1.2.3.4:6881&dht=1.2.3.4:6881",
		named + "&tr=%zz&t%72=http://10.0.0.1/":                                           named,
		named + "#&tr=http://10.0.0.1/":                                                   named + "#",
		"magnet:?xt.1=urn:btih:" + v1 + "&tr=http://10.0.0.1/&xt.2=urn:btmh:1220" + v2:    "magnet:?xt.1=urn:btih:" + v1 + "&xt.2=urn:btmh:1220" + v2,
	} {
		var asked []string
		clean, removed := MagnetWithout(link, except(&asked, "10.0.0.1"))
		if clean != want || (removed > 0) != (link != want) {
			t.Errorf("%s: got %s, %d; want %s", link, clean, removed, want)
		}
		if slices.ContainsFunc(asked, func(host string) bool { return strings.Contains(host, "://") }) {
			t.Errorf("%s: asked for %q", link, asked)
		}
	}
}

// FuzzWithout: the torrent stays the same one, and no host to be removed is left.
func FuzzWithout(f *testing.F) {
	f.Add([]byte("d8:announce22:http://10.0.0.1:80/ann4:info" + plainInfo + "8:url-listl22:http://10.0.0.1:80/annee"))
	f.Fuzz(func(t *testing.T, file []byte) {
		before, _, err := Identify(file)
		if err != nil {
			return
		}

		none := func(string) bool { return false }
		clean, _, err := Without(file, none)
		if err != nil {
			return
		}
		if after, _, err := Identify(clean); err != nil || after != before {
			t.Errorf("got %+v, %v; want %+v", after, err, before)
		}
		if _, again, err := Without(clean, none); err != nil || again > 0 {
			t.Errorf("%d are left: %v", again, err)
		}
	})
}
