package app

import (
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/service"
	"stagecoach/internal/store/operations"
)

// The categories of torrents that are the service's: the active ones, and those whose downloads have ended, which keep
// seeding. It touches no others, so that a person may use the same qBittorrent.
const (
	activeCategory = "stagecoach"
	doneCategory   = "stagecoach-done"
)

// torrentTimeout is the longest time for one request to qBittorrent.
const torrentTimeout = 10 * time.Second

// Downloads makes the service of downloads.
func (a *Connections) Downloads() *service.Downloads {
	counted := a.Metrics.Download()
	startAtZero(counted.Ended, lifecycle.Download.Ended()...)
	return &service.Downloads{
		Temporal: a.Temporal, Store: a.Store, Log: a.Log, Off: a.Config.QBittorrent.URL == "", Payloads: a.Payloads,
		Grace: a.Config.Download.Grace,
		// Long enough to learn that qBittorrent does not answer; less than a request over HTTP may take.
		CancelPatience: torrentTimeout + 2*time.Second,
		OnEnded:        func(state lifecycle.DownloadState) { counted.Ended.WithLabelValues(string(state)).Inc() },
		OnStarted:      func(mediaType string) { counted.Started.WithLabelValues(mediaType).Inc() },
	}
}

// Torrents makes a client of qBittorrent.
func (a *Connections) Torrents() *qbittorrent.Client {
	c := a.Config.QBittorrent
	return qbittorrent.New(qbittorrent.Options{
		URL: c.URL, Username: c.Username, Password: c.Password, APIKey: c.APIKey, Timeout: torrentTimeout,
		ActiveCategory: activeCategory, DoneCategory: doneCategory,
		Observer: a.Observer(operations.QBittorrent, a.Metrics.Download().Latency),
	})
}

// pollGap is how old qBittorrent's last answer may grow; 0: downloads are off.
func (a *Connections) pollGap() time.Duration {
	if a.Config.QBittorrent.URL == "" {
		return 0
	}
	return a.Config.Download.PollGap()
}

// torrentChecks are what a worker needs that asks qBittorrent.
func (a *Connections) torrentChecks() ([]doctor.Check, error) {
	c := a.Config.QBittorrent
	switch {
	case !a.Config.Worker.Serves(lifecycle.MainQueue):
		return nil, nil
	case c.URL == "":
		off := doctor.Off(operations.QBittorrent, "STAGECOACH_QBITTORRENT_URL is empty", doctor.AboutDownloads)
		return []doctor.Check{off}, nil
	default:
		return []doctor.Check{doctor.OfQBittorrent(a.Torrents(), c.Password+c.APIKey != "")}, nil
	}
}
