package download

import (
	"context"

	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/torrent"
)

// takeOutPrivate removes the addresses from a torrent that would lead qBittorrent, which does not check them, into a
// private network. The record keeps the original torrent.
func (d *Activities) takeOutPrivate(ctx context.Context, job download.Download, wanted *qbittorrent.NewTorrent) error {
	seen := map[string]bool{}
	var hosts []string
	_, _, err := without(*wanted, func(host string) bool {
		if !seen[host] {
			seen[host], hosts = true, append(hosts, host)
		}
		return true
	})
	if err != nil {
		return err
	}

	allowed := d.Fetcher.Hosts(ctx, hosts)
	clean, removed, err := without(*wanted, func(host string) bool { return allowed[host] })
	if err != nil {
		return err
	}

	if removed > 0 {
		d.Log.Info("private addresses removed from torrent", "download", job.ID, "addresses", removed)
	}
	*wanted = clean
	return nil
}

// without returns a torrent without the addresses whose hosts keep rejects.
func without(t qbittorrent.NewTorrent, keep func(host string) bool) (_ qbittorrent.NewTorrent, removed int, err error) {
	if t.File != nil {
		t.File, removed, err = torrent.Without(t.File, keep)
	} else {
		t.Magnet, removed = torrent.MagnetWithout(t.Magnet, keep)
	}
	return t, removed, err
}
