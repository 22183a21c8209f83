package e2e

import (
	"bytes"
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anacrolix/torrent/metainfo"
	qbt "github.com/autobrr/go-qbittorrent"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/stack"
	"stagecoach/dev/wait"
)

// standIn is a simulator server that can be killed. Its torrents make no progress until they are released.
type standIn struct {
	*torrentsim.QBittorrent
	server *stack.Served
	client *qbt.Client
	lose   int    // torrents that the next restart loses
	files  string // folder with the files of released torrents; empty: none
}

func newStandIn(t testing.TB) *standIn {
	t.Helper()
	return startStandIn(t, "")
}

// newStandInWithFiles is newStandIn with a folder in which released torrents have their files. They stay there when the
// torrent is deleted.
func newStandInWithFiles(t testing.TB) *standIn {
	t.Helper()
	return startStandIn(t, t.TempDir())
}

func startStandIn(t testing.TB, files string) *standIn {
	t.Helper()
	q, err := stack.NewStandIn(torrentsim.QBittorrentOptions{
		Password: qbittorrentPassword, SavePath: files,
		Plan: torrentsim.TorrentPlan{Meta: torrentsim.Never, Duration: torrentsim.Never, Hybrid: true},
	})

	must(t, err)
	s := &standIn{QBittorrent: q.(*torrentsim.QBittorrent), files: files}
	s.server, err = stack.Serve("127.0.0.1:0", q)
	must(t, err)
	t.Cleanup(func() { _ = s.server.Close() })
	s.client = webClient(s.login())
	return s
}

func (s *standIn) login() (url, user, password string) {
	return s.server.URL, "admin", qbittorrentPassword
}

func (s *standIn) web() *qbt.Client { return s.client }

// downloads is empty even if released torrents have files: a torrent in progress has none.
func (s *standIn) downloads() string { return "" }

func (s *standIn) kill() { s.ClearFaults(); s.server.Halt() }

func (s *standIn) restart(t testing.TB) {
	t.Helper()
	must(t, s.Restart(s.lose))
	must(t, s.server.Resume())
	s.client, s.lose = webClient(s.login()), 0
}

func (s *standIn) release(l *library, made *torrentsim.SeededTorrent) {
	l.Helper()
	wait.Eventually(l, made.Name+" is there", func() bool { return s.releases(l, made) })
}

// releases releases a torrent if it exists; false: it does not.
func (s *standIn) releases(l *library, made *torrentsim.SeededTorrent) bool {
	l.Helper()
	hash, whole := cmp.Or(made.InfohashV1, made.InfohashV2), 1.0
	all := s.Torrents()
	at := slices.IndexFunc(all, func(t torrentsim.Torrent) bool { return t.InfohashV1 == hash || t.InfohashV2 == hash })
	if at < 0 {
		return false
	}

	change := torrentsim.TorrentChange{Progress: &whole}
	if s.files != "" {
		change.Files = l.bring(made, all[at].SavePath)
	}
	return s.Change(hash, change) == nil
}

// bring writes the content of a torrent into a folder, and returns its files.
func (l *library) bring(made *torrentsim.SeededTorrent, folder string) (files []torrentsim.TorrentFile) {
	l.Helper()
	file, err := metainfo.Load(bytes.NewReader(made.File))
	must(l, err)
	info, err := file.UnmarshalInfo()
	must(l, err)
	var names []string
	for _, part := range info.Files {
		names = append(names, path.Join(made.Name, path.Join(part.BestPath()...)))
	}
	if len(names) == 0 {
		names = []string{made.Name}
	}

	for _, name := range names {
		content, at := l.content(name), filepath.Join(folder, name)
		must(l, os.MkdirAll(filepath.Dir(at), 0o755))
		must(l, os.WriteFile(at, content, 0o644))
		files = append(files, torrentsim.TorrentFile{Name: name, Size: int64(len(content)), Priority: 1})
	}
	return files
}

// pace sets the duration of a torrent from now on.
func (s *standIn) pace(l *library, made *torrentsim.SeededTorrent, took time.Duration) {
	l.Helper()
	s.change(l, made, torrentsim.TorrentChange{Duration: &took})
}

// change changes a torrent as soon as it exists.
func (s *standIn) change(l *library, made *torrentsim.SeededTorrent, change torrentsim.TorrentChange) {
	l.Helper()
	wait.Eventually(l, made.Name+" is there", func() bool { return s.Change(made.Name, change) == nil })
}

// realServer is qbittorrent-nox, with a second one that seeds released torrents.
type realServer struct {
	*servers.QBittorrent
	client *qbt.Client
	log    *logBuffer

	seeder func() (*servers.QBittorrent, error)
	source *torrentsim.WebSeed // for the seeder
}

// newRealServer starts the program, or skips the test where it is not installed.
func newRealServer(t testing.TB) *realServer {
	t.Helper()
	if _, _, err := servers.FindQBittorrent(t.Context()); err != nil {
		t.Skip(err)
	}

	r := &realServer{log: &logBuffer{}}
	ground := newGround(t)
	start := func() (*servers.QBittorrent, error) {
		return ground.StartQBittorrent(t.Context(), servers.QBittorrentOptions{Dir: t.TempDir(), Log: r.log})
	}

	var err error
	r.QBittorrent, err = start()
	must(t, err)
	t.Cleanup(r.Kill)
	r.client = webClient(r.login())
	r.seeder = sync.OnceValues(func() (*servers.QBittorrent, error) {
		other, err := start()
		if err == nil {
			t.Cleanup(other.Kill)
		}
		return other, err
	})

	must(t, ground.StartWebSeed())
	r.source = ground.WebSeed
	return r
}

func (r *realServer) login() (url, user, password string) { return r.URL, r.Username, r.Password }

func (r *realServer) web() *qbt.Client { return r.client }

func (r *realServer) downloads() string { return r.Downloads }

func (r *realServer) kill() { r.Kill() }

func (r *realServer) restart(t testing.TB) {
	t.Helper()
	must(t, r.Restart(t.Context()))
	r.client = webClient(r.login())
}

// release adds the torrent to the second program, and connects this one to it.
func (r *realServer) release(l *library, made *torrentsim.SeededTorrent) {
	l.Helper()
	kind := torrentsim.TorrentV1
	switch {
	case made.InfohashV1 == "":
		kind = torrentsim.TorrentV2
	case made.InfohashV2 != "":
		kind = torrentsim.TorrentHybrid
	}

	same, err := r.source.Add(torrentsim.TorrentSpec{Name: made.Name, Size: made.Size, Kind: kind})
	must(l, err)
	seeder, err := r.seeder()
	must(l, err)
	from := webClient(seeder.URL, seeder.Username, seeder.Password)
	_, err = from.AddTorrentFromMemoryCtx(l.Context(), same.File, map[string]string{})
	must(l, err)
	wait.Eventually(l, "the seeder has "+made.Name, func() bool {
		have, err := from.GetTorrentsCtx(l.Context(), qbt.TorrentFilterOptions{Hashes: []string{same.Hash()}})
		return err == nil && len(have) == 1 && have[0].Progress == 1
	})
	// A peer that is added too early is dropped, so this is repeated.
	wait.Eventually(l, made.Name+" is released", func() bool {
		there := l.find(made)
		if there != nil && there.Progress < 1 {
			_ = r.client.AddPeersForTorrentsCtx(l.Context(), []string{there.Hash}, []string{seeder.Peer})
		}
		return there != nil && there.Progress == 1
	})
}
