package config

import "time"

// QBittorrent says where qBittorrent is and which parts of it belong to the service.
type QBittorrent struct {
	URL                string // empty: downloads are off
	Username, Password string
	APIKey             string // instead of user and password
	SavePath           string // in its own file system
}

// Download configures the download workload.
type Download struct {
	PollInterval   time.Duration
	Grace          time.Duration
	NextAfter      time.Duration
	MinFree        int64 // bytes
	PrivateSources bool
}

// Media configures the check of the media's files.
type Media struct {
	Root       string // the workers' path of qBittorrent's folder; empty: no check
	MaxPercent int64  // maximum share of the available media that one sweep may mark as missing
}

// PollGap is the longest time without a poll of qBittorrent that does not count as an outage: some polls may be late.
func (d Download) PollGap() time.Duration { return 3*d.PollInterval + 30*time.Second }

// downloadSettings are those of downloads, and of the files they leave.
func (c *Config) downloadSettings() []Setting {
	return []Setting{
		c.quota("downloads", "STAGECOACH_LIMIT_DOWNLOADS", "100", "active downloads of one user"),
		c.quota("downloads_per_day", "STAGECOACH_LIMIT_DOWNLOADS_PER_DAY", "200", "downloads that one user and their agents request within 24 hours, ended ones included"),
		guarded(optionalAddress(&c.QBittorrent.URL, "STAGECOACH_QBITTORRENT_URL", "qBittorrent's Web UI; empty: downloads are off"), &c.QBittorrent.URL),
		text(&c.QBittorrent.Username, "STAGECOACH_QBITTORRENT_USERNAME", "", "qBittorrent's user; empty, with an empty password: qBittorrent requires none from this address"),
		only(withTorrents, secret(&c.QBittorrent.Password, "STAGECOACH_QBITTORRENT_PASSWORD", "qBittorrent's password")),
		only(withTorrents, secret(&c.QBittorrent.APIKey, "STAGECOACH_QBITTORRENT_API_KEY", "an API key of qBittorrent 5.2 or newer, instead of user and password")),
		text(&c.QBittorrent.SavePath, "STAGECOACH_QBITTORRENT_SAVE_PATH", "", "the folder in qBittorrent's file system that holds a folder for each download; empty: qBittorrent's default folder"),
		torznabURLs(&c.Torznab.URLs),
		torznabKeys(&c.Torznab.Keys),
		duration(&c.Download.PollInterval, "STAGECOACH_DOWNLOAD_POLL_INTERVAL", "15s", 100*time.Millisecond, 5*time.Minute, "time between two polls of qBittorrent: one request for all downloads"),
		duration(&c.Download.Grace, "STAGECOACH_DOWNLOAD_GRACE", "60s", time.Second, day, "how long a torrent may be missing, outages of qBittorrent aside"),
		duration(&c.Download.NextAfter, "STAGECOACH_DOWNLOAD_NEXT_AFTER", "2h", 0, 30*day, "how long a torrent may be stalled before the download's next source is tried, if it has several; 0: only a failure makes room for the next"),
		integer(&c.Download.MinFree, "STAGECOACH_DOWNLOAD_MIN_FREE", "1073741824", 0, 1<<50, "bytes that stay free in qBittorrent's default folder, and in a library folder on another disk, once all downloads are complete: a download that does not fit waits"),
		boolean(&c.Download.PrivateSources, "STAGECOACH_DOWNLOAD_PRIVATE_SOURCES", "false", "allow .torrent files, trackers, web seeds and peers at private addresses, such as this machine's; otherwise they are removed from torrents"),
		text(&c.Media.Root, "STAGECOACH_MEDIA_ROOT", "", "where workers find the folder of STAGECOACH_QBITTORRENT_SAVE_PATH (the same path, if that is empty); workers check media files only while it contains a file .stagecoach-media; empty: no checks"),
		integer(&c.Media.MaxPercent, "STAGECOACH_MEDIA_SWEEP_MAX_PERCENT", "5", 0, 100, "percent of the available media; a check that would mark more as missing marks none and raises an alert"),
		c.days("downloads", "STAGECOACH_RETENTION_DOWNLOADS", "365", "downloads that have ended, with their events; books and files stay"),
	}
}
