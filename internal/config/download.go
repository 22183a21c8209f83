package config

import "time"

// QBittorrent says where qBittorrent is and what of it is the service's.
type QBittorrent struct {
	URL                          string // empty: downloads are off
	Username, Password           string
	ActiveCategory, DoneCategory string
	SavePath                     string // in its own file system
	Timeout                      time.Duration
}

// Download configures the download workload.
type Download struct {
	PollInterval    time.Duration
	Grace           time.Duration
	EnqueuePatience time.Duration
	StalledAfter    time.Duration // 0: never
	StalledCancel   bool
	MinFree         int64 // bytes
	SourceMaxSize   int64
	SourceTimeout   time.Duration
	PrivateSources  bool
}

// Media configures the check of the media's files.
type Media struct {
	Root       string // where workers find qBittorrent's folder; empty: no check
	SweepEvery time.Duration
	MaxPercent int64 // of the available media that one sweep may mark as missing
}

// PollGap is the longest time without a poll of qBittorrent that is no outage: some polls may be late.
func (d Download) PollGap() time.Duration { return 3*d.PollInterval + 30*time.Second }

// downloadSettings are those of downloads, and of the files that they leave.
func (c *Config) downloadSettings() []Setting {
	return []Setting{
		c.quota("downloads", "STAGECOACH_LIMIT_DOWNLOADS", "100", "active downloads of one user"),
		c.quota("books", "STAGECOACH_LIMIT_BOOKS", "1000", "books that one user has added"),
		guarded(optionalAddress(&c.QBittorrent.URL, "STAGECOACH_QBITTORRENT_URL", "qBittorrent's Web UI; empty: downloads are off"), &c.QBittorrent.URL),
		text(&c.QBittorrent.Username, "STAGECOACH_QBITTORRENT_USERNAME", "", "qBittorrent's user; empty, with the password: it asks this address for none"),
		only(ForWorker, secret(&c.QBittorrent.Password, "STAGECOACH_QBITTORRENT_PASSWORD", "qBittorrent's password")),
		category(&c.QBittorrent.ActiveCategory, nil, "STAGECOACH_QBITTORRENT_CATEGORY", "stagecoach", "category of active torrents; the service touches torrents of its two categories only, and no other installation may use them"),
		category(&c.QBittorrent.DoneCategory, &c.QBittorrent.ActiveCategory, "STAGECOACH_QBITTORRENT_DONE_CATEGORY", "stagecoach-done", "category of torrents whose downloads have ended; completed ones keep seeding"),
		text(&c.QBittorrent.SavePath, "STAGECOACH_QBITTORRENT_SAVE_PATH", "", "folder in qBittorrent's file system in which each download gets a folder; empty: qBittorrent's default folder"),
		duration(&c.QBittorrent.Timeout, "STAGECOACH_QBITTORRENT_TIMEOUT", "10s", 100*time.Millisecond, time.Minute, "the longest time for one request to qBittorrent"),
		duration(&c.Download.PollInterval, "STAGECOACH_DOWNLOAD_POLL_INTERVAL", "15s", 100*time.Millisecond, 5*time.Minute, "time between two polls of qBittorrent: one request for all downloads"),
		duration(&c.Download.Grace, "STAGECOACH_DOWNLOAD_GRACE", "60s", time.Second, day, "how long a torrent may be missing, not counting outages of qBittorrent"),
		duration(&c.Download.EnqueuePatience, "STAGECOACH_DOWNLOAD_ENQUEUE_PATIENCE", "15m", 0, 30*day, "a new download fails when qBittorrent cannot be reached for longer"),
		duration(&c.Download.StalledAfter, "STAGECOACH_DOWNLOAD_STALLED_AFTER", "24h", 0, 365*day, "a download without progress for this long, not counting outages, needs attention; 0: never"),
		boolean(&c.Download.StalledCancel, "STAGECOACH_DOWNLOAD_STALLED_CANCEL", "false", "cancel such a download"),
		integer(&c.Download.MinFree, "STAGECOACH_DOWNLOAD_MIN_FREE", "0", 0, 1<<50, "new downloads wait while fewer bytes are free in qBittorrent's default folder; 0: no limit"),
		integer(&c.Download.SourceMaxSize, "STAGECOACH_DOWNLOAD_SOURCE_MAX_SIZE", "10485760", 1, 1<<30, "the largest .torrent file in bytes"),
		duration(&c.Download.SourceTimeout, "STAGECOACH_DOWNLOAD_SOURCE_TIMEOUT", "30s", 100*time.Millisecond, 2*time.Minute, "the longest time to fetch a .torrent file"),
		boolean(&c.Download.PrivateSources, "STAGECOACH_DOWNLOAD_PRIVATE_SOURCES", "false", "let .torrent files, trackers, web seeds and peers be at addresses that are not on the Internet, such as this machine's; else such addresses are taken out of torrents"),
		text(&c.Media.Root, "STAGECOACH_MEDIA_ROOT", "", "where workers find the folder of STAGECOACH_QBITTORRENT_SAVE_PATH (the same path, if that is empty); workers check the files of media only while a file .stagecoach-media is in it; empty: no checks"),
		duration(&c.Media.SweepEvery, "STAGECOACH_MEDIA_SWEEP_EVERY", "1h", time.Second, 30*day, "time between two checks of all media"),
		integer(&c.Media.MaxPercent, "STAGECOACH_MEDIA_SWEEP_MAX_PERCENT", "5", 0, 100, "percent of the available media: a check that would mark more as missing marks none and raises an alert"),
		c.days("downloads", "STAGECOACH_RETENTION_DOWNLOADS", "365", "downloads that have ended, with their events; books and files stay"),
	}
}
