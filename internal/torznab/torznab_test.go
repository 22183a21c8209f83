package torznab_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/simtest"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/torznab"
)

const (
	key    = "planted+key/with=signs"
	hash   = "c12fe1c06bba254a9dc9f519b335aa7c1367a88a"
	magnet = "magnet:?xt=urn:btih:" + hash
)

// prowlarr starts a simulator with three releases, and returns it as an indexer.
func prowlarr(t *testing.T) (*torznabsim.Server, torznab.Indexer) {
	t.Helper()
	s, err := torznabsim.New(torznabsim.Options{Key: key, Releases: []torznabsim.Release{
		{Title: "War &amp; Peace <epub>", Indexer: "Books", Size: 1000, Seeders: 3, Peers: 4, Days: 2, Infohash: strings.ToUpper(hash), Torrent: "http://127.0.0.1:1/x"},
		{Title: "War and Peace, read aloud", Audio: true, Seeders: 1, Magnet: magnet},
		{Title: "War and Peace (better)", Seeders: 30, Magnet: magnet + "&dn=x", Leads: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s, torznab.Indexer{URL: simtest.Serve(t, s) + "/1/api", Key: key}
}

func search(t *testing.T, timeout time.Duration, words, medium string, of ...torznab.Indexer) torznab.Found {
	t.Helper()
	found := torznab.New(torznab.Options{Indexers: of, Timeout: timeout}).Search(t.Context(), words, medium)
	if text := fmt.Sprintf("%+v", found); strings.Contains(text, "planted") {
		t.Errorf("the key is in %s", text)
	}
	return found
}

// TestSearch finds e-books and audiobooks by words, with all details and without the key.
func TestSearch(t *testing.T) {
	t.Parallel()
	_, indexer := prowlarr(t)
	found := search(t, time.Minute, "war peace", "text", indexer)
	if len(found.Failed) > 0 || len(found.Releases) != 2 {
		t.Fatalf("%+v", found)
	}

	better, book := found.Releases[0], found.Releases[1]
	if better.Title != "War and Peace (better)" || *better.Seeders != 30 || better.Indexer != "A library" {
		t.Errorf("the first is %+v", better)
	}
	if age := time.Since(book.Published); book.Title != "War & Peace <epub>" || book.Size != 1000 || *book.Seeders != 3 ||
		book.Infohash != hash || book.Indexer != "Books" || age < 47*time.Hour || age > 49*time.Hour {
		t.Errorf("%+v", book)
	}
	if !strings.Contains(book.SourceURL, "/1/download?apikey=&link=0&") {
		t.Errorf("the link is %s", book.SourceURL)
	}

	found = search(t, time.Minute, "PEACE", "audio", indexer)
	if len(found.Releases) != 1 || found.Releases[0].SourceURL != magnet || found.Releases[0].Infohash != hash {
		t.Errorf("%+v", found)
	}
	if found = search(t, time.Minute, "nothing", "text", indexer); len(found.Releases)+len(found.Failed) > 0 {
		t.Errorf("%+v", found)
	}
}

// TestOneThatFails names the indexer, with a code, and keeps the other's results.
func TestOneThatFails(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]fault.Code{
		"500": fault.SourceUnavailable, "429": fault.SourceUnavailable, "404": fault.SourceRefused, "401": fault.SourceRefused,
		"timeout": fault.SourceUnavailable, "stall": fault.SourceUnavailable, "cut": fault.SourceUnavailable, "html_502": fault.SourceUnavailable,
		"wrong_key": fault.SourceRefused, "error_answer": fault.SourceRefused, "busy_answer": fault.SourceUnavailable,
		"garbage": fault.SourceRefused, "broken_xml": fault.SourceRefused, "huge": fault.SourceRefused,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			sick, one := prowlarr(t)
			_, other := prowlarr(t)
			sick.AddFault(sim.Fault{Kind: kind, AfterBytes: 100})
			limit := time.Minute
			if kind == "timeout" || kind == "stall" { // which last as long as the limit
				limit = 10 * time.Second
			}
			found := search(t, limit, "war", "text", one, other)
			if len(found.Releases) != 2 || len(found.Failed) != 1 || found.Failed[0] != (torznab.Failure{Indexer: one.Name(), Code: want}) {
				t.Errorf("%+v", found)
			}
		})
	}
}

// TestAKeyThatIsWrong is distinguished from other refusals, for the check of the settings.
func TestAKeyThatIsWrong(t *testing.T) {
	t.Parallel()
	sick, indexer := prowlarr(t)
	client := torznab.New(torznab.Options{Indexers: []torznab.Indexer{indexer}})
	if program, err := client.Check(t.Context(), indexer); err != nil || program != "Prowlarr" {
		t.Errorf("%q, %v", program, err)
	}
	wrong := indexer
	wrong.Key = "another"
	if _, err := client.Check(t.Context(), wrong); !torznab.RefusesKey(err) {
		t.Errorf("a wrong key gave %v", err)
	}
	for _, kind := range []string{"garbage", "error_answer", "503"} {
		sick.AddFault(sim.Fault{Kind: kind, Times: 1})
		if _, err := client.Check(t.Context(), indexer); err == nil || torznab.RefusesKey(err) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s gave %v", kind, err)
		}
	}
}

// answering is an indexer that always gives the same answer.
func answering(t *testing.T, body string) torznab.Indexer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/feed/api" || r.URL.Query().Get("apikey") != key {
			t.Errorf("asked %s", r.URL)
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return torznab.Indexer{URL: server.URL + "/feed", Key: key}
}

func rss(items ...string) string {
	return `<rss xmlns:torznab="http://torznab.com/schemas/2015/feed"><channel><title>Jackett &nbsp; one</title>` + strings.Join(items, "") + `</channel></rss>`
}

// TestForeignAnswers reads all kinds of indexers' answers: releases without link or title are left out, invalid numbers
// are unknown, and a key is never returned.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	const escapedKey = "planted%2Bkey%2Fwith%3Dsigns"
	for name, c := range map[string]struct{ item, link, title string }{
		"a file":              {`<item><title>a</title><link>https://x.example/1.torrent</link></item>`, "https://x.example/1.torrent", "a"},
		"an enclosure":        {`<item><title>a</title><enclosure url="https://x.example/2" length="-5"/></item>`, "https://x.example/2", "a"},
		"a magnet first":      {`<item><title>a</title><link>https://x.example/1</link><torznab:attr name="magneturl" value="` + magnet + `"/></item>`, magnet, "a"},
		"a guid":              {`<item><title>a</title><guid>` + magnet + `</guid></item>`, magnet, "a"},
		"a page as a guid":    {`<item><title>a</title><guid>https://x.example/page</guid></item>`, "", ""},
		"no magnet":           {`<item><title>a</title><torznab:attr name="magneturl" value="magnet:?dn=x"/></item>`, "", ""},
		"another protocol":    {`<item><title>a</title><link>file:///etc/passwd</link></item>`, "", ""},
		"no title":            {`<item><title> &#9; </title><link>https://x.example/1</link></item>`, "", ""},
		"an escaped title":    {`<item><title>a &amp;amp; b&#10;c</title><link>https://x.example/1</link></item>`, "https://x.example/1", "a & b c"},
		"Jackett's key":       {`<item><title>a</title><link>http://j/dl/x/?jackett_apikey=` + escapedKey + `&amp;path=p</link></item>`, "http://j/dl/x/?jackett_apikey=&path=p", "a"},
		"a key in a path":     {`<item><title>a</title><link>http://j/` + escapedKey + `/dl</link></item>`, "", ""},
		"a key under a name":  {`<item><title>a</title><link>http://j/dl?token=` + escapedKey + `</link></item>`, "", ""},
		"a key in a magnet":   {`<item><title>a</title><link>` + magnet + `&amp;tr=http://t/` + escapedKey + `</link></item>`, "", ""},
		"a key in the title":  {`<item><title>see ` + key + `</title><link>https://x.example/1</link></item>`, "https://x.example/1", "…"},
		"numbers without end": {`<item><title>a</title><link>https://x.example/1</link><size>99999999999999999999</size><pubDate>yesterday</pubDate><torznab:attr name="seeders" value="-1"/><torznab:attr name="infohash" value="zz"/></item>`, "https://x.example/1", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := search(t, time.Minute, "a", "text", answering(t, rss(c.item)))
			if len(found.Failed) > 0 || (len(found.Releases) == 1) != (c.link != "") {
				t.Fatalf("%+v", found)
			}
			if c.link == "" {
				return
			}
			r := found.Releases[0]
			if r.SourceURL != c.link || r.Title != c.title || r.Size != 0 || r.Seeders != nil || !r.Published.IsZero() || r.Indexer != "Jackett one" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestOneTorrentOnce shows one torrent of several indexers once: the one with most seeders.
func TestOneTorrentOnce(t *testing.T) {
	t.Parallel()
	item := func(title, link string, seeders int, infohash string) string {
		return fmt.Sprintf(`<item><title>%s</title><link>%s</link><torznab:attr name="seeders" value="%d"/><torznab:attr name="infohash" value="%s"/></item>`, title, link, seeders, infohash)
	}
	found := search(t, time.Minute, "a", "text",
		answering(t, rss(item("few", "https://x.example/1", 1, hash), item("alone", "https://x.example/2", 5, ""))),
		answering(t, rss(item("many", "https://y.example/1", 9, hash), item("again", "https://x.example/2", 2, ""))),
		answering(t, rss(item("magnet", magnet, 0, ""))),
	)
	var got []string
	for _, r := range found.Releases {
		got = append(got, r.Title+" "+r.SourceURL)
	}
	if want := []string{"many https://y.example/1", "alone https://x.example/2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	var many []string
	for i := range 300 {
		many = append(many, item("one", fmt.Sprintf("https://x.example/%d", i), i, ""))
	}
	if n := len(search(t, time.Minute, "a", "text", answering(t, rss(many...))).Releases); n != torznab.MaxFound {
		t.Errorf("%d releases", n)
	}
}

// TestWhoDoesNotWait gives up when its caller does.
func TestWhoDoesNotWait(t *testing.T) {
	t.Parallel()
	sick, indexer := prowlarr(t)
	sick.AddFault(sim.Fault{Kind: "timeout"})
	ctx, cancel := context.WithCancelCause(t.Context())
	simulated := errors.New("the caller has left")
	go func() {
		wait.Eventually(t, "a request", func() bool { return len(sick.Requests()) > 0 })
		cancel(simulated)
	}()
	found := torznab.New(torznab.Options{Indexers: []torznab.Indexer{indexer}, Timeout: time.Hour}).Search(ctx, "a", "text")
	if len(found.Failed) != 1 {
		t.Errorf("%+v", found)
	}
}

// TestRetryAfterIsKept for other callers' searches.
func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	for header, kept := range map[string]bool{"3600": true, time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): true, "": false, "soon": false, "-5": false} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Retry-After", header)
				w.WriteHeader(status)
			}))
			client := torznab.New(torznab.Options{Indexers: []torznab.Indexer{{URL: server.URL}}})
			for _, words := range []string{"one", "two"} {
				if found := client.Search(t.Context(), words, "text"); len(found.Failed) != 1 || found.Failed[0].Code != fault.SourceUnavailable {
					t.Errorf("%d with %q: %+v", status, header, found)
				}
			}
			server.Close()
			if (asked == 1) != kept {
				t.Errorf("%d with %q: asked %d times", status, header, asked)
			}
		}
	}
}
