package app

import (
	"context"
	"time"

	"stagecoach/activities"
	"stagecoach/internal/fetch"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/pulse"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/service"
)

// downloadAlertAfter is how long qBittorrent may be out of reach before the administrators hear of it: an update and its
// restart take less.
const downloadAlertAfter = 5 * time.Minute

func (a *common) downloads() *service.Downloads {
	return &service.Downloads{
		Temporal: a.temporal, Store: a.store, Log: a.log, Off: a.config.QBittorrent.URL == "", Payloads: a.payloads, Grace: a.config.Download.Grace,
		// To hear that qBittorrent does not answer; less than a request over HTTP may take.
		CancelPatience: min(a.config.QBittorrent.Timeout+2*time.Second, 15*time.Second),
		OnStarted:      func(mediaType string) { a.metrics.DownloadsStarted.WithLabelValues(mediaType).Inc() },
	}
}

// downloadSync gives what makes sure that the watcher runs; nil: downloads are off.
func (a *common) downloadSync() func(context.Context) error {
	if a.config.QBittorrent.URL == "" {
		return nil
	}
	return func(ctx context.Context) error {
		return startSingleton(ctx, a.temporal, lifecycle.DownloadSyncType, lifecycle.DownloadSyncID, lifecycle.DownloadSyncTitle)
	}
}

// downloadActivities gives the activities of downloads and the watcher's, which share one window on qBittorrent: its one
// login too.
func (a *common) downloadActivities() (*activities.Downloads, *activities.DownloadSync) {
	c := a.config
	torrents := qbittorrent.New(qbittorrent.Options{
		URL: c.QBittorrent.URL, Username: c.QBittorrent.Username, Password: c.QBittorrent.Password, Timeout: c.QBittorrent.Timeout,
		ActiveCategory: c.QBittorrent.ActiveCategory, DoneCategory: c.QBittorrent.DoneCategory,
		OnLatency: outsideCall("qbittorrent", a.metrics.QBittorrentLatency), OnResult: a.pulse.Noting(pulse.QBittorrent),
	})
	downloads := &activities.Downloads{
		Store: a.store, Rules: lifecycle.Download, Torrents: torrents, Metrics: a.metrics, Log: a.log,
		Fetcher: fetch.New(fetch.Options{MaxSize: c.Download.SourceMaxSize, Timeout: c.Download.SourceTimeout, AllowPrivate: c.Download.PrivateSources}),
		Settings: activities.DownloadSettings{
			SavePath: c.QBittorrent.SavePath, MinFree: c.Download.MinFree, EnqueuePatience: c.Download.EnqueuePatience,
			Grace: c.Download.Grace, PollGap: c.Download.PollGap(),
		},
	}
	watcher := &activities.DownloadSync{
		Store: a.store, Torrents: torrents, Temporal: a.temporal, Metrics: a.metrics, Log: a.log,
		Settings: activities.DownloadSyncSettings{
			Every: c.Download.PollInterval, PollGap: c.Download.PollGap(), StalledAfter: c.Download.StalledAfter,
			StalledCancel: c.Download.StalledCancel, AlertAfter: downloadAlertAfter, ObservedSignal: lifecycle.DownloadObservedSignal,
		},
	}
	return downloads, watcher
}
