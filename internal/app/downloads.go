package app

import (
	"cmp"
	"context"
	"time"

	"stagecoach/internal/allowance"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/torznab"
)

// The service's torrent categories: the active ones, and those whose downloads have ended, which keep seeding:
// completed ones have a category per medium. It touches no others, so that a person may use the same qBittorrent.
const (
	activeCategory = "stagecoach"
	doneCategory   = "stagecoach-done"
)

// torrentTimeout bounds one request to qBittorrent.
const torrentTimeout = 10 * time.Second

func (a *Connections) Downloads() *downloads.Service {
	counted := a.Metrics.Download()
	startAtZero(counted.Ended, lifecycle.Download.Ended()...)

	var indexers downloads.Indexers // nil: none
	if len(a.Config.Torznab.URLs) > 0 {
		indexers = torznab.New(torznab.Options{Indexers: Indexers(a.Config.Torznab)})
	}

	return &downloads.Service{
		Temporal: a.Temporal, Store: a.Store, Log: a.Log, Off: a.Config.QBittorrent.URL == "", Payloads: a.Payloads,
		Grace: a.Config.Download.Grace, Indexers: indexers, Searches: allowance.NewSearches(),
		Library: a.Config.Library.Dir != "",
		// Long enough to learn that qBittorrent does not answer; less than an HTTP request may take.
		CancelPatience: torrentTimeout + 2*time.Second,
		OnEnded:        func(state lifecycle.DownloadState) { counted.Ended.WithLabelValues(string(state)).Inc() },
		OnStarted:      func(mediaType string) { counted.Started.WithLabelValues(mediaType).Inc() },
	}
}

func (a *Connections) Torrents() *qbittorrent.Client {
	c := a.Config.QBittorrent
	return qbittorrent.New(qbittorrent.Options{
		URL: c.URL, Username: c.Username, Password: c.Password, APIKey: c.APIKey, Timeout: torrentTimeout,
		ActiveCategory: activeCategory, DoneCategory: doneCategory, Media: download.MediaTypes,
		Observer: a.Observer(operations.QBittorrent, a.Metrics.Download().Latency),
	})
}

// Indexers returns the configured addresses, each with its key.
func Indexers(c config.Torznab) []torznab.Indexer {
	all := make([]torznab.Indexer, len(c.URLs))
	for i, url := range c.URLs {
		all[i] = torznab.Indexer{URL: url, Key: c.Keys[i]}
	}
	return all
}

// indexerChecks are what a process needs that searches for releases, or fetches the files of indexers.
func (a *Connections) indexerChecks() (checks []doctor.Check) {
	client := torznab.New(torznab.Options{Indexers: Indexers(a.Config.Torznab)})
	for _, indexer := range Indexers(a.Config.Torznab) {
		checks = append(checks, doctor.OfIndexer(client, indexer))
	}
	return checks
}

// torrentChecks are what a worker that queries qBittorrent needs.
func (a *Connections) torrentChecks() ([]doctor.Check, error) {
	c := a.Config.QBittorrent
	switch {
	case !a.Config.Worker.Serves(lifecycle.MainQueue):
		return nil, nil
	case c.URL == "":
		off := doctor.Off(operations.QBittorrent, "STAGECOACH_QBITTORRENT_URL is empty", doctor.AboutDownloads)
		return []doctor.Check{off}, nil
	default:
		own := doctor.OfQBittorrent(a.Torrents(), c.Password+c.APIKey != "")
		return append(append([]doctor.Check{own}, a.libraryChecks()...), a.indexerChecks()...), nil
	}
}

// libraryChecks are what a worker that puts files into the library folder needs.
func (a *Connections) libraryChecks() []doctor.Check {
	if a.Config.Library.Dir == "" {
		return nil
	}
	place := cmp.Or(a.Config.Media.Root, a.Config.QBittorrent.SavePath)
	return []doctor.Check{doctor.OfLibrary(a.Config.Library.Dir, func(ctx context.Context) (string, error) {
		if place != "" {
			return place, nil
		}
		return a.Torrents().DefaultSavePath(ctx)
	})}
}

// pollGap is the maximum age of qBittorrent's last answer; 0: downloads are off.
func (a *Connections) pollGap() time.Duration {
	if a.Config.QBittorrent.URL == "" {
		return 0
	}
	return a.Config.Download.PollGap()
}
