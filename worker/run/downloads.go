package run

import (
	"cmp"
	"os"
	"time"

	"go.temporal.io/sdk/worker"

	"stagecoach/activities/download"
	"stagecoach/internal/app"
	"stagecoach/internal/fetch"
	"stagecoach/internal/library"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/torznab"
)

// downloadAlertAfter is how long qBittorrent may be unavailable before the administrators are notified: an update and
// its restart take less.
const downloadAlertAfter = 5 * time.Minute

const (
	// addEvery is the pause between attempts to hand a new download to qBittorrent, addTries their number: together 15
	// minutes of an unreachable qBittorrent.
	addEvery, addTries = 15 * time.Second, 60
	// stalledAfter is how long a download may make no progress before its owner is notified: long enough for a peer who
	// only shares in the evening.
	stalledAfter = 24 * time.Hour
)

// downloadPart returns the part of downloads.
func (p process) downloadPart(services all.Services) (part, error) {
	activities, watcher := p.downloadActivities(services.Downloads)
	downloads := part{main: register(activities, watcher)}
	if p.Config.Worker.Serves(lifecycle.MainQueue) {
		downloads.start = services.Downloads.StartSync
	}

	if p.Config.Worker.Serves(lifecycle.TorrentQueue) {
		downloads.queues = []queue{{
			name: lifecycle.TorrentQueue, options: promptOptions(p.Config, filesAtOnce),
			register: func(w worker.ActivityRegistry) { download.RegisterFiles(w, activities) },
		}}
	}
	return downloads, nil
}

// downloadActivities returns the activities of downloads and of the watcher, which share one client of qBittorrent, and
// so one login.
func (p process) downloadActivities(jobs *downloads.Service) (*download.Activities, *download.Sync) {
	c := p.Config
	torrents := p.Torrents()
	space := download.Space{MinFree: c.Download.MinFree}
	if c.Library.Dir != "" {
		from := cmp.Or(c.Media.Root, c.QBittorrent.SavePath)
		space.LibraryFree = func() int64 { return library.CopySpace(c.Library.Dir, from) }
	}
	downloads := &download.Activities{
		Store: p.Store.Downloads, Alerts: p.Store.Notices, Jobs: jobs, Torrents: torrents, Log: p.Log,
		Fetcher: fetch.New(fetch.Options{
			AllowPrivate: c.Download.PrivateSources, Complete: torznab.Keys(app.Indexers(c.Torznab)).Complete,
		}),
		Settings: download.Settings{
			SavePath: c.QBittorrent.SavePath,
			Grace:    c.Download.Grace, PollGap: c.Download.PollGap(),
			HandOverAfter: handOverAfter(c.Worker.StopTimeout),
		},
		Library: download.Library{Dir: c.Library.Dir, Template: c.Library.Template, Media: c.Media.Root, Link: os.Link},
		Space:   space,
	}

	watcher := &download.Sync{
		Store: p.Store.Downloads, Alerts: p.Store.Notices, Torrents: torrents,
		Temporal: p.Temporal, Metrics: p.Metrics.Download(), Log: p.Log, Space: space,
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
