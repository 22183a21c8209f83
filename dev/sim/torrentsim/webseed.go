package torrentsim

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stagecoach/dev/sim"
)

// WebSeed creates torrents and serves their content over HTTP, so that a download needs neither a tracker nor a peer.
// It serves the .torrent files too. Everything is in memory.
type WebSeed struct {
	sim.Control
	// URL is the base of all URLs.
	URL string

	system *http.ServeMux
	speed  atomic.Int64
	stop   func()

	mu    sync.Mutex
	files map[string]served // by the path below the root
}

// served is a file that is served.
type served struct {
	data  []byte
	speed int64 // bytes per second; 0: as SetSpeed says
}

// TorrentSpec describes a torrent to create.
type TorrentSpec struct {
	Name   string
	Size   int64            // of its only file
	Files  map[string]int64 // sizes by path, instead of one file; only with version 1
	Kind   TorrentKind
	NoSeed bool  // the .torrent file names no web seed
	Speed  int64 // bytes per second of each request; 0: as SetSpeed says
}

// SeededTorrent is a torrent that a WebSeed serves.
type SeededTorrent struct {
	Name       string
	Size       int64
	File       []byte // the .torrent file
	URL        string // where the .torrent file is served
	InfohashV1 string // lower-case hex; empty for version 2
	InfohashV2 string // lower-case hex; empty for version 1
	SHA256     string // of the content of a torrent with one file, lower-case hex
}

// StartWebSeed serves on addr, "127.0.0.1:0" for a free port, until Close.
func StartWebSeed(addr string) (*WebSeed, error) {
	s := &WebSeed{files: map[string]served{}}
	s.SetUp(sim.Protocol{
		Mask: func(p string) string { return p },
		Fail: func(w http.ResponseWriter, _ *http.Request, p sim.Problem) {
			http.Error(w, http.StatusText(p.Status), p.Status)
		},
	})

	s.system = http.NewServeMux()
	s.system.HandleFunc("GET /", s.serveFile)
	var err error
	if s.URL, s.stop, err = sim.Start(addr, s); err != nil {
		return nil, fmt.Errorf("web seed: %w", err)
	}

	return s, nil
}

// Close cuts all connections and stops serving.
func (s *WebSeed) Close() error {
	s.ClearFaults()
	s.stop()
	return nil
}

// SetSpeed limits the speed of each request that begins from now on, in bytes per second; 0 is unlimited.
func (s *WebSeed) SetSpeed(bytesPerSecond int64) { s.speed.Store(bytesPerSecond) }

// ServeHTTP serves contents, .torrent files and the control routes under /_/.
func (s *WebSeed) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.Serve(w, r, s.system) }

func (s *WebSeed) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	file, ok := s.files[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}

	if strings.HasSuffix(r.URL.Path, ".torrent") {
		w.Header().Set("Content-Type", "application/x-bittorrent")
	}

	if speed := cmp.Or(file.speed, s.speed.Load()); speed > 0 {
		w = &sim.LimitedWriter{ResponseWriter: w, Limiter: sim.SpeedLimit(speed)}
	}

	http.ServeContent(w, r, path.Base(r.URL.Path), time.Time{}, bytes.NewReader(file.data))
}

// Add creates a torrent and serves it from now on. The same name and sizes always produce the same content and the same
// hashes.
func (s *WebSeed) Add(spec TorrentSpec) (*SeededTorrent, error) {
	if spec.Name == "" || strings.Contains(spec.Name, "/") {
		return nil, errors.New("web seed: a torrent needs a name without a slash")
	}

	contents, err := spec.contents()
	if err != nil {
		return nil, fmt.Errorf("web seed: %w", err)
	}

	t := &SeededTorrent{Name: spec.Name, URL: s.URL + "/torrents/" + spec.Name + ".torrent"}
	seed := s.URL + "/content/"
	if spec.NoSeed {
		seed = ""
	}

	if err := t.make(spec, contents, seed); err != nil {
		return nil, fmt.Errorf("web seed: %w", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.files["/torrents/"+spec.Name+".torrent"] = served{data: t.File}
	for _, c := range contents {
		s.files[path.Join("/content", spec.Name, c.path)] = served{c.data, spec.Speed}
	}
	return t, nil
}

// Hash is qBittorrent's hash of the torrent once it has the metadata.
func (t *SeededTorrent) Hash() string {
	if t.InfohashV2 != "" {
		return t.InfohashV2[:40]
	}
	return t.InfohashV1
}

// Magnet is a magnet link that names the info hashes and, as host:port, peers that have the metadata.
func (t *SeededTorrent) Magnet(peers ...string) string {
	link := (&simTorrent{V1: t.InfohashV1, V2: t.InfohashV2, Name: t.Name}).link()
	for _, peer := range peers {
		link += "&x.pe=" + peer
	}
	return link
}

// content is one file of a torrent.
type content struct {
	path string // relative to the torrent's name; empty for an only file
	data []byte
}

// contents generates the files of a torrent, in the order of their paths.
func (s TorrentSpec) contents() ([]content, error) {
	if len(s.Files) == 0 {
		if s.Size <= 0 {
			return nil, errors.New("the size must be above 0")
		}
		return []content{{data: madeUp(s.Name, s.Size)}}, nil
	}
	if s.Kind != TorrentV1 {
		return nil, errors.New("several files are only made with version 1")
	}

	var all []content
	for _, p := range sortedKeys(s.Files) {
		if s.Files[p] <= 0 || path.Clean("/"+p) != "/"+p {
			return nil, fmt.Errorf("a file cannot be %q with %d bytes", p, s.Files[p])
		}
		all = append(all, content{path: p, data: madeUp(s.Name+"/"+p, s.Files[p])})
	}

	return all, nil
}

// beginnings are the magic bytes of formats, by file extension.
var beginnings = map[string]string{".epub": "PK\x03\x04", ".mp3": "ID3"}

// madeUp returns random data that depends only on name and size, and begins with its format's magic bytes.
func madeUp(name string, size int64) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(name))).Read(data) // never fails
	copy(data, beginnings[path.Ext(name)])
	return data
}
