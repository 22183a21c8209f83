package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/anacrolix/torrent/bencode"

	"stagecoach/dev/sim/oidcsim"
	"stagecoach/dev/sim/torrentsim"
)

const (
	abuserAuthor = "Mallory" // of the abuser's books, and so the abuser's folder in the library

	longState  = 29 << 10 // bytes of a forged state: a request line just below the limit
	longLink   = 8 << 10  // bytes of a link that leads nowhere
	manyFiles  = 600      // of a torrent with names of the maximum length of a file system
	bombFiles  = 115_000  // of a .torrent just below the maximum size that is fetched
	hugeLength = 2 << 40  // bytes that no disk here has
)

// newest attacks through the newest interfaces with what has harmed others before: sign-ins that nobody started,
// catalogue pages with thousands of links, failing links, and torrents that do not fit.
func (a *abuser) newest(again func(times int, what func(n int)), over <-chan struct{}) {
	a.soak.Helper()
	album := a.album()

	again(2, func(int) { a.madeUpSignIn() })
	again(1, func(int) { a.fetchesAlbum(album) })
	again(6, func(int) { a.sends("GET", "/opds", nil) })
	again(6, func(int) { a.readsNothing(over, "GET /opds", nil) })
	again(2, func(int) { a.deadLinks() })
	again(2, func(int) { a.sends("GET", "/v1/releases?media_type=text&q=wheels", nil) })
	again(1, func(n int) { a.downloads("text", a.site+[]string{"/large.torrent", "/huge.torrent"}[n%2]) })
}

// startOIDC gives the programs a sign-in provider.
func (s *soak) startOIDC() {
	s.Helper()
	must(s, s.ground.StartOIDC(oidcsim.Options{ClientID: "soak", ClientSecret: "planted-oidc-secret"}))
}

// madeUpSignIn calls back with an attempt that nobody started, from an address of its own: limits by address do not
// stop it.
func (a *abuser) madeUpSignIn() {
	state := strings.Repeat(fmt.Sprintf("%016X", rand.Uint64()), longState/16)
	attempt, err := json.Marshal(map[string]any{
		"state": state, "nonce": "n", "verifier": "v", "next": "/", "began": time.Now().UTC(),
	})
	must(a.soak, err)

	request, err := http.NewRequestWithContext(
		a.soak.Context(), http.MethodGet, a.soak.apiURL+"/oidc/callback?error=access_denied&state="+state, nil,
	)
	must(a.soak, err)
	request.AddCookie(&http.Cookie{Name: "stagecoach-oidc", Value: base64.RawURLEncoding.EncodeToString(attempt)})

	from := net.IPv4(127, 1+byte(rand.IntN(250)), byte(rand.IntN(250)), 7)
	transport := &http.Transport{
		DialContext:       (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}).DialContext,
		DisableKeepAlives: true,
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		a.note("a made-up sign-in", 0)
	} else {
		_ = response.Body.Close()
		a.note("a made-up sign-in", response.StatusCode)
	}
	time.Sleep(refusedPause)
}

// album is an audiobook with as many files, and as long names, as cost a page of the catalogue most.
func (a *abuser) album() *torrentsim.SeededTorrent {
	a.soak.Helper()
	files := map[string]int64{}
	for i := range manyFiles {
		files[fmt.Sprintf("%04d%s.mp3", i, strings.Repeat("\U0001F600", 40))] = 4
	}
	return a.torrent(fmt.Sprintf("album-%d", rand.Uint64()), torrentsim.TorrentSpec{Files: files, NoSeed: true})
}

// fetchesAlbum fetches one more book with the album's files.
func (a *abuser) fetchesAlbum(album *torrentsim.SeededTorrent) {
	a.downloads("audio", album.URL)
	a.qbittorrent.releases(a.library, album)
	time.Sleep(time.Second)
}

// deadLinks requests ten links that lead nowhere.
func (a *abuser) deadLinks() {
	links := make([]string, 10)
	for i := range links {
		links[i] = fmt.Sprintf("%s/gone/%d?%s", a.seed.URL, rand.Uint64(), strings.Repeat("x", longLink-100))
	}
	a.downloads("text", links...)
}

// downloads asks for a download of a new book with these links.
func (a *abuser) downloads(medium string, links ...string) {
	defer time.Sleep(refusedPause)
	book, _ := a.asks("POST", "/v1/books", map[string]any{"title": "Noise", "author": abuserAuthor}).body["id"].(string)
	if book == "" {
		return
	}

	sources := make([]map[string]any, len(links))
	for i, link := range links {
		sources[i] = map[string]any{"source_url": link, "infohash": fmt.Sprintf("%040x", rand.Uint64())}
	}
	asked := map[string]any{"book_id": book, "media_type": medium, "source_url": links[0]}
	if len(sources) > 1 {
		asked["sources"] = sources
	}
	a.asks("POST", "/v1/downloads", asked)
}

// manyEmptyFiles is a torrent of one text and count empty files.
func manyEmptyFiles(count int) []byte {
	files := []any{map[string]any{"length": 1, "path": []string{"a.txt"}}}
	for i := range count {
		files = append(files, map[string]any{"length": 0, "path": []string{fmt.Sprintf("%06d%s", i, strings.Repeat("x", 40))}})
	}
	return encoded(map[string]any{"name": "many", "piece length": 1 << 18, "pieces": strings.Repeat("p", 20), "files": files})
}

// oneFile is a torrent of one file.
func oneFile(length int) []byte {
	const pieceLength = 16 << 20
	return encoded(map[string]any{
		"name": "huge.epub", "piece length": pieceLength, "length": length, "pieces": strings.Repeat("p", length/pieceLength*20),
	})
}

func encoded(info map[string]any) []byte {
	file, err := bencode.Marshal(map[string]any{"info": info})
	if err != nil {
		panic(err)
	}
	return file
}
