// Package torznabsim simulates Prowlarr, which searches for releases with Torznab.
package torznabsim

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stagecoach/dev/sim"
)

// Options are the settings of the simulated Prowlarr.
type Options struct {
	Key      string // required of requests; empty: none
	Releases []Release
}

// Release is a release that a search may find.
type Release struct {
	Title    string `json:"title"`
	Indexer  string `json:"indexer"`
	Audio    bool   `json:"audio,omitempty"` // an audiobook; otherwise an e-book
	Size     int64  `json:"size"`
	Seeders  int    `json:"seeders"`
	Peers    int    `json:"peers"`
	Days     int    `json:"days"` // since it was published
	Infohash string `json:"infohash,omitempty"`

	Torrent string `json:"torrent,omitempty"` // URL of its .torrent file, which the simulator passes on
	Magnet  string `json:"magnet,omitempty"`
	// Leads is for a release with a magnet link: the results have the URL of a file that redirects to the magnet link.
	Leads bool `json:"leads,omitempty"`
}

// Server is the simulator.
type Server struct {
	sim.Control
	key    string
	system *http.ServeMux

	mu       sync.Mutex
	releases []Release
}

// documents are the faults in which Prowlarr responds 200, but not with results.
var documents = map[string]string{
	"wrong_key":    `<?xml version="1.0" encoding="UTF-8"?><error code="100" description="Invalid API Key" />`,
	"error_answer": `<?xml version="1.0" encoding="UTF-8"?><error code="201" description="Incorrect parameter" />`,
	"busy_answer":  `<?xml version="1.0" encoding="UTF-8"?><error code="500" description="Request limit reached" />`,
	"garbage":      `<html><body><p>Sign in<br></body>`,
	"broken_xml":   `<?xml version="1.0"?><rss><channel><title>x</title><item><title>a</item></channel></rss>`,
	"huge":         "", // endless results
}

// New returns the simulator.
func New(o Options) (*Server, error) {
	s := &Server{key: o.Key, releases: slices.Clone(o.Releases), system: http.NewServeMux()}
	named := map[string]sim.Problem{}
	for kind := range documents {
		named[kind] = sim.Problem{Status: http.StatusOK, Text: kind}
	}

	control := s.SetUp(sim.Protocol{Mask: func(path string) string { return path }, Fail: fail, Named: named})
	control.HandleFunc("POST /_/releases", s.postRelease)
	control.HandleFunc("GET /_/releases", s.getReleases)

	s.system.HandleFunc("GET /{indexer}/api", s.getAPI)
	s.system.HandleFunc("GET /{indexer}/download", s.getDownload)
	return s, nil
}

// Close releases held connections; the handler must no longer be served.
func (s *Server) Close() error {
	s.ClearFaults()
	return nil
}

// ServeHTTP serves the protocol at the root and the control routes under /_/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.Serve(w, r, s.system) }

// Add adds a release.
func (s *Server) Add(r Release) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releases = append(s.releases, r)
}

func (s *Server) all() []Release {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.releases)
}

func (s *Server) postRelease(w http.ResponseWriter, r *http.Request) {
	var release Release
	if sim.ReadControl(w, r, &release) {
		s.Add(release)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) getReleases(w http.ResponseWriter, _ *http.Request) {
	sim.WriteJSON(w, http.StatusOK, map[string]any{"items": s.all()})
}

func fail(w http.ResponseWriter, r *http.Request, p sim.Problem) {
	document, isDocument := documents[p.Text]
	switch {
	case !isDocument:
		http.Error(w, http.StatusText(p.Status), p.Status)
	case document != "":
		writeXML(w, document)
	default:
		writeXML(w, `<?xml version="1.0"?><rss><channel>`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "<item><title>"+strings.Repeat("a", 1<<16)+"</title></item>"); err != nil {
				return
			}
		}
	}
}

func writeXML(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
	_, _ = io.WriteString(w, text) // an error means that the client has disconnected
}

// refuses responds to a request without the key.
func (s *Server) refuses(w http.ResponseWriter, r *http.Request) bool {
	if s.key == "" || r.URL.Query().Get("apikey") == s.key {
		return false
	}
	w.WriteHeader(http.StatusUnauthorized)
	writeXML(w, documents["wrong_key"])
	return true
}

// getAPI responds to t=search with results, and to t=caps.
func (s *Server) getAPI(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case s.refuses(w, r):
	case q.Get("t") == "caps":
		writeXML(w, `<?xml version="1.0" encoding="UTF-8"?><caps><server title="Prowlarr" /><searching><search available="yes" supportedParams="q" /></searching></caps>`)
	case q.Get("t") != "search":
		writeXML(w, documents["error_answer"])
	default:
		s.search(w, r, q.Get("q"), strings.Split(q.Get("cat"), ","))
	}
}

// search responds with the releases whose titles contain all words.
func (s *Server) search(w http.ResponseWriter, r *http.Request, words string, categories []string) {
	var results strings.Builder
	for id, release := range s.all() {
		title := strings.ToLower(release.Title)
		missing := func(word string) bool { return !strings.Contains(title, word) }
		if slices.ContainsFunc(strings.Fields(strings.ToLower(words)), missing) || !slices.Contains(categories, release.category()) {
			continue
		}
		results.WriteString(s.result(r, id, release))
	}

	writeXML(w, `<?xml version="1.0" encoding="UTF-8"?>
<rss version="1.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:torznab="http://torznab.com/schemas/2015/feed"><channel>
<atom:link rel="self" type="application/rss+xml" /><title>Prowlarr</title>`+results.String()+`</channel></rss>`)
}

func (r Release) category() string {
	if r.Audio {
		return "3030"
	}
	return "7020"
}

// result is a release as an RSS item. The URL of its file contains the key, as Prowlarr's do.
func (s *Server) result(r *http.Request, id int, release Release) string {
	link := fmt.Sprintf(
		"http://%s/%s/download?apikey=%s&link=%d&file=%s", r.Host, r.PathValue("indexer"), url.QueryEscape(s.key), id,
		url.QueryEscape(release.Title),
	)

	attrs := map[string]string{
		"category": release.category(), "seeders": strconv.Itoa(release.Seeders), "peers": strconv.Itoa(release.Peers),
		"infohash": release.Infohash,
	}
	if release.Magnet != "" && !release.Leads {
		attrs["magneturl"] = release.Magnet
	}

	text := fmt.Sprintf(
		"<item><title>%s</title><guid>%s</guid><prowlarrindexer id=\"1\" type=\"public\">%s</prowlarrindexer><pubDate>%s</pubDate><size>%d</size>",
		escaped(release.Title), escaped(link), escaped(cmp.Or(release.Indexer, "A library")),
		time.Now().AddDate(0, 0, -release.Days).UTC().Format(time.RFC1123Z), release.Size,
	)
	if attrs["magneturl"] == "" {
		text += fmt.Sprintf("<link>%s</link><enclosure url=%q length=\"%d\" type=\"application/x-bittorrent\" />", escaped(link), escaped(link), release.Size)
	}
	for name, value := range attrs {
		if value != "" {
			text += fmt.Sprintf("<torznab:attr name=%q value=%q />", name, escaped(value))
		}
	}
	return text + "</item>"
}

func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}

// getDownload passes on a .torrent file, or redirects to a magnet link.
func (s *Server) getDownload(w http.ResponseWriter, r *http.Request) {
	if s.refuses(w, r) {
		return
	}
	all := s.all()
	id, err := strconv.Atoi(r.URL.Query().Get("link"))
	if err != nil || id < 0 || id >= len(all) {
		http.NotFound(w, r)
		return
	}

	if release := all[id]; release.Magnet != "" {
		w.Header().Set("Location", release.Magnet)
		w.WriteHeader(http.StatusFound)
	} else {
		passOn(w, r, release.Torrent)
	}
}

func passOn(w http.ResponseWriter, r *http.Request, address string) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, address, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	w.Header().Set("Content-Type", "application/x-bittorrent")
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // an error means that the client has disconnected
}
