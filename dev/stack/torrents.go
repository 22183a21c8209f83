package stack

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/starter/terminal"
)

// Torrents of dev's web seed: the demo's, and two for the developer.
const (
	demoTorrent  = "demo-book-16MiB.epub"
	spareTorrent = "spare-book-16MiB.epub"
	audioTorrent = "spare-audiobook-16MiB"
	torrentSize  = 16 << 20
	seedSpeed    = 8 << 20 // bytes per second: slow enough to be visible

	slowTorrents = 3
	slowSize     = 8 << 20
	slowSpeed    = 4 << 10
)

// torrents is the qBittorrent of dev: the real one if it is installed, otherwise a simulator.
type torrents struct {
	missing error // why there is no real one

	Demo     *torrentsim.SeededTorrent
	Spare    *torrentsim.SeededTorrent
	Audio    *torrentsim.SeededTorrent
	Slow     []*torrentsim.SeededTorrent // for the scene after the demo
	SlowTime time.Duration               // how long each of them takes
}

// startQBittorrent starts the real one if it is installed.
func (s *Stack) startQBittorrent(ctx context.Context) error {
	if _, _, s.Torrents.missing = servers.FindQBittorrent(ctx); s.Torrents.missing != nil {
		return ctx.Err()
	}

	began := time.Now()
	q, err := s.StartQBittorrent(ctx, servers.QBittorrentOptions{
		Dir: filepath.Join(s.State, "qbittorrent"), Port: s.kept.Ports.QBittorrent, Log: s.logs["qbittorrent"],
	})
	if err != nil {
		return err
	}

	s.kept.Ports.QBittorrent = portOfURL(q.URL)
	s.Screen.Say(
		"  qBittorrent  %s, ready in %s", strings.TrimPrefix(q.String(), "qBittorrent "), terminal.Took(time.Since(began)),
	)
	return nil
}

// startTorrentStandIn starts a simulator if the real qBittorrent is missing.
func (s *Stack) startTorrentStandIn() error {
	if s.Torrents.missing == nil {
		return nil
	}

	err := s.StartQBittorrentStandIn(torrentsim.QBittorrentOptions{
		Dir:      filepath.Join(s.State, "qbittorrent-standin"),
		Username: "admin", Password: "adminadmin", // guards nothing worth a secret
		Save: true, SavePath: filepath.Join(s.State, "downloads"),
		Plan: torrentsim.TorrentPlan{Meta: 2 * time.Second, Check: 500 * time.Millisecond, Duration: 5 * time.Second},
	})
	if err != nil {
		return err
	}

	s.Screen.Say("  qBittorrent  a simulator, which fetches only from web seeds: %v", s.Torrents.missing)
	return nil
}

// addTorrents creates the torrents of the web seed. It runs before qBittorrent, which resumes those of the last run
// immediately and only retries an unresponsive web seed after a long time.
func (s *Stack) addTorrents() (err error) {
	s.WebSeed.SetSpeed(seedSpeed)
	if s.Torrents.Spare, err = s.WebSeed.Add(torrentsim.TorrentSpec{Name: spareTorrent, Size: torrentSize}); err != nil {
		return err
	}

	audio := map[string]int64{"01 Out.mp3": torrentSize / 2, "02 And home.mp3": torrentSize / 2}
	if s.Torrents.Audio, err = s.WebSeed.Add(torrentsim.TorrentSpec{Name: audioTorrent, Files: audio}); err != nil {
		return err
	}

	s.Torrents.SlowTime = slowSize / slowSpeed * time.Second
	for i := range slowTorrents {
		slow, err := s.WebSeed.Add(torrentsim.TorrentSpec{Name: fmt.Sprintf("slow-book-%d.epub", i+1), Size: slowSize, Speed: slowSpeed})
		if err != nil {
			return err
		}
		s.Torrents.Slow = append(s.Torrents.Slow, slow)
	}

	s.Torrents.Demo, err = s.WebSeed.Add(torrentsim.TorrentSpec{Name: demoTorrent, Size: torrentSize})
	return err
}
