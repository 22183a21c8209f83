package run

import (
	"time"

	"stagecoach/activities/download"
	"stagecoach/internal/app"
	"stagecoach/internal/fetch"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/qbittorrent"
)

// downloadAlertAfter is how long qBittorrent may be out of reach before the administrators hear of it: an update and
// its restart take less.
const downloadAlertAfter = 5 * time.Minute

// downloadActivities gives the activities of downloads and the watcher's, which share one window on qBittorrent: its
// one login too.
func (p process) downloadActivities() (*download.Activities, *download.Sync) {
	c := p.Config
	torrents := qbittorrent.New(qbittorrent.Options{
		URL: c.QBittorrent.URL, Username: c.QBittorrent.Username, Password: c.QBittorrent.Password,
		Timeout:        c.QBittorrent.Timeout,
		ActiveCategory: c.QBittorrent.ActiveCategory, DoneCategory: c.QBittorrent.DoneCategory,
		OnLatency: app.TraceCall("qbittorrent", p.Metrics.Download().Latency),
		OnResult:  p.Liveness.Noting(liveness.QBittorrent),
	})

	downloads := &download.Activities{
		Store: p.Store, Jobs: p.Downloads(), Torrents: torrents, Log: p.Log,
		Fetcher: fetch.New(fetch.Options{
			MaxSize: c.Download.SourceMaxSize, Timeout: c.Download.SourceTimeout, AllowPrivate: c.Download.PrivateSources,
		}),
		Settings: download.Settings{
			SavePath: c.QBittorrent.SavePath, MinFree: c.Download.MinFree, EnqueuePatience: c.Download.EnqueuePatience,
			Grace: c.Download.Grace, PollGap: c.Download.PollGap(),
		},
	}

	watcher := &download.Sync{
		Store: p.Store, Torrents: torrents, Temporal: p.Temporal, Metrics: p.Metrics.Download(), Log: p.Log,
		Settings: download.SyncSettings{
			Every: c.Download.PollInterval, PollGap: c.Download.PollGap(), StalledAfter: c.Download.StalledAfter,
			StalledCancel: c.Download.StalledCancel, AlertAfter: downloadAlertAfter,
		},
	}

	return downloads, watcher
}
