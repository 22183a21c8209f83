package stack

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/starter/terminal"
)

// Torrents that the web seed of dev has: the demo's, and one for the developer to try.
const (
	demoTorrent  = "demo-book-16MiB.bin"
	spareTorrent = "spare-book-16MiB.bin"
	torrentSize  = 16 << 20
	seedSpeed    = 8 << 20 // bytes per second: slow enough to be seen
)

// torrents is the qBittorrent of dev: the real one where it is installed, else the stand-in.
type torrents struct {
	url, username, password string
	Folder                  string // where the real one puts what it downloads; empty: the stand-in, which moves no bytes
	missing                 error  // why there is no real one

	Demo *torrentsim.SeededTorrent
}

// startQBittorrent starts the real one; nil when there is none.
func (s *Stack) startQBittorrent(ctx context.Context) (*servers.QBittorrent, error) {
	if _, _, s.Torrents.missing = servers.FindQBittorrent(ctx); s.Torrents.missing != nil {
		return nil, ctx.Err()
	}

	began := time.Now()
	q, err := servers.StartQBittorrent(ctx, servers.QBittorrentOptions{
		Dir: filepath.Join(s.State, "qbittorrent"), Port: s.kept.Ports.QBittorrent, Log: s.logs["qbittorrent"],
	})
	if err != nil {
		return nil, err
	}

	s.Torrents.url, s.Torrents.username, s.Torrents.password, s.Torrents.Folder = q.URL, q.Username, q.Password, q.Downloads
	s.Info.StandIns.QBittorrent = q.URL
	s.kept.Ports.QBittorrent = portOf(strings.TrimPrefix(q.URL, "http://"))
	s.Screen.Say(
		"  qBittorrent  %s, ready in %s", strings.TrimPrefix(q.String(), "qBittorrent "), terminal.Took(time.Since(began)),
	)
	return q, nil
}

// startTorrentStandIn starts the stand-in for qBittorrent where the real one is missing.
func (s *Stack) startTorrentStandIn() error {
	t := &s.Torrents
	if t.Folder != "" {
		return nil
	}

	t.username, t.password = "admin", "adminadmin" // of nothing that is worth a secret
	standIn, err := torrentsim.NewQBittorrent(torrentsim.QBittorrentOptions{
		Dir: filepath.Join(s.State, "qbittorrent-standin"), Username: t.username, Password: t.password,
		Plan: torrentsim.TorrentPlan{Meta: 2 * time.Second, Check: 500 * time.Millisecond, Duration: 5 * time.Second},
	})
	if err != nil {
		return err
	}
	if t.url, err = s.serveStandIn("qbittorrent", standIn, &s.kept.Ports.QBittorrent); err != nil {
		return err
	}

	s.Info.StandIns.QBittorrent = t.url
	s.Screen.Say("  qBittorrent  a stand-in, which moves no bytes: %v", t.missing)
	return nil
}

// startWebSeed serves the torrents to try. It comes before qBittorrent, which goes on with those of the last time at
// once, and leaves a web seed that does not answer alone for long.
func (s *Stack) startWebSeed() error {
	var seed *torrentsim.WebSeed
	err := onPort(&s.kept.Ports.WebSeed, func(address string) (err error) {
		seed, err = torrentsim.StartWebSeed(address)
		return err
	})
	if err != nil {
		return err
	}

	s.started("web seed", seed.Close)
	s.Info.StandIns.WebSeed = seed.URL
	seed.SetSpeed(seedSpeed)
	if _, err = seed.Add(torrentsim.TorrentSpec{Name: spareTorrent, Size: torrentSize}); err != nil {
		return err
	}

	s.Torrents.Demo, err = seed.Add(torrentsim.TorrentSpec{Name: demoTorrent, Size: torrentSize})
	return err
}
