package run

import (
	"context"
	"os"
	"time"

	"go.temporal.io/sdk/worker"

	"stagecoach/activities/download"
	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/internal/fetch"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/torznab"
	downloadworkflow "stagecoach/workflows/download"
)

// downloadAlertAfter is how long qBittorrent may be unavailable before the administrators are notified: an update and
// its restart take less.
const downloadAlertAfter = 5 * time.Minute

const (
	// addEvery is the pause between two attempts to hand a new download to qBittorrent, addTries their number: it waits
	// 15 minutes for a qBittorrent that cannot be reached.
	addEvery, addTries = 15 * time.Second, 60
	// stalledAfter is how long a download may make no progress before its owner is told: one that waits for a person
	// who shares in the evening only is none.
	stalledAfter = 24 * time.Hour
)

// downloadPart gives what downloads need.
func (p process) downloadPart(services service.Services) (part, error) {
	activities, watcher := p.downloadActivities(services.Downloads)
	downloads := part{main: register(activities, watcher)}
	if serves(p.Config, lifecycle.MainQueue) {
		downloads.start = func(ctx context.Context) error {
			return app.RetryWhileUnavailable(ctx, p.Log, "Temporal", func() error { return services.Downloads.StartSync(ctx) })
		}
	}

	if serves(p.Config, lifecycle.TorrentQueue) {
		downloads.queues = []queue{{
			name: lifecycle.TorrentQueue, options: filesOptions(p.Config),
			register: func(w worker.ActivityRegistry) { download.RegisterFiles(w, activities) },
		}}
	}
	return downloads, nil
}

func downloadSettings(c config.Config) downloadworkflow.Settings {
	return downloadworkflow.Settings{Grace: c.Download.Grace, AddEvery: addEvery, AddTries: addTries}
}

// downloadActivities gives the activities of downloads and the watcher's, which share one window on qBittorrent: its
// one login too.
func (p process) downloadActivities(jobs *service.Downloads) (*download.Activities, *download.Sync) {
	c := p.Config
	torrents := p.Torrents()
	downloads := &download.Activities{
		Store: p.Store.Downloads, Alerts: p.Store.Notices, Jobs: jobs, Torrents: torrents, Log: p.Log,
		Fetcher: fetch.New(fetch.Options{
			AllowPrivate: c.Download.PrivateSources, Complete: torznab.Keys(app.Indexers(c.Torznab)).Complete,
		}),
		Settings: download.Settings{
			SavePath: c.QBittorrent.SavePath, MinFree: c.Download.MinFree,
			Grace: c.Download.Grace, PollGap: c.Download.PollGap(),
		},
		Library: download.Library{Dir: c.Library.Dir, Template: c.Library.Template, Media: c.Media.Root, Link: os.Link},
	}

	watcher := &download.Sync{
		Store: p.Store.Downloads, Alerts: p.Store.Notices, Torrents: torrents,
		Temporal: p.Temporal, Metrics: p.Metrics.Download(), Log: p.Log,
		Settings: download.SyncSettings{
			Every: c.Download.PollInterval, PollGap: c.Download.PollGap(), StalledAfter: stalledAfter,
			NextAfter: c.Download.NextAfter, AlertAfter: downloadAlertAfter,
			Seeds: download.SeedRules{
				Ratio: c.Library.SeedRatio, Time: time.Duration(c.Library.SeedDays) * 24 * time.Hour,
			},
		},
	}

	return downloads, watcher
}
