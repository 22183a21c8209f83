package run

import (
	"time"

	"stagecoach/activities"
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
func (a process) downloadActivities() (*activities.Downloads, *activities.DownloadSync) {
	c := a.Config
	torrents := qbittorrent.New(qbittorrent.Options{
		URL: c.QBittorrent.URL, Username: c.QBittorrent.Username, Password: c.QBittorrent.Password,
		Timeout:        c.QBittorrent.Timeout,
		ActiveCategory: c.QBittorrent.ActiveCategory, DoneCategory: c.QBittorrent.DoneCategory,
		OnLatency: app.TraceCall("qbittorrent", a.Metrics.QBittorrentLatency),
		OnResult:  a.Liveness.Noting(liveness.QBittorrent),
	})

	downloads := &activities.Downloads{
		Store: a.Store, Jobs: a.Downloads(), Torrents: torrents, Log: a.Log,
		Fetcher: fetch.New(fetch.Options{
			MaxSize: c.Download.SourceMaxSize, Timeout: c.Download.SourceTimeout, AllowPrivate: c.Download.PrivateSources,
		}),
		Settings: activities.DownloadSettings{
			SavePath: c.QBittorrent.SavePath, MinFree: c.Download.MinFree, EnqueuePatience: c.Download.EnqueuePatience,
			Grace: c.Download.Grace, PollGap: c.Download.PollGap(),
		},
	}

	watcher := &activities.DownloadSync{
		Store: a.Store, Torrents: torrents, Temporal: a.Temporal, Metrics: a.Metrics, Log: a.Log,
		Settings: activities.DownloadSyncSettings{
			Every: c.Download.PollInterval, PollGap: c.Download.PollGap(), StalledAfter: c.Download.StalledAfter,
			StalledCancel: c.Download.StalledCancel, AlertAfter: downloadAlertAfter,
		},
	}

	return downloads, watcher
}
