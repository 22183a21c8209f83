package config

import "time"

// QBittorrent says where qBittorrent is and what of it is the service's.
type QBittorrent struct {
	URL                string // empty: downloads are off
	Username, Password string
	APIKey             string // instead of them
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
	Root       string // where workers find qBittorrent's folder; empty: no check
	MaxPercent int64  // of the available media that one sweep may mark as missing
}

// PollGap is the longest time without a poll of qBittorrent that is no outage: some polls may be late.
func (d Download) PollGap() time.Duration { return 3*d.PollInterval + 30*time.Second }

// downloadSettings are those of downloads, and of the files that they leave.
func (c *Config) downloadSettings() []Setting {
	return []Setting{
		c.quota("downloads", "STAGECOACH_LIMIT_DOWNLOADS", "100", "active downloads of one user"),
		guarded(optionalAddress(&c.QBittorrent.URL, "STAGECOACH_QBITTORRENT_URL", "qBittorrent's Web UI; empty: downloads are off"), &c.QBittorrent.URL),
		text(&c.QBittorrent.Username, "STAGECOACH_QBITTORRENT_USERNAME", "", "qBittorrent's user; empty, with the password: it asks this address for none"),
		only(withTorrents, secret(&c.QBittorrent.Password, "STAGECOACH_QBITTORRENT_PASSWORD", "qBittorrent's password")),
		only(withTorrents, secret(&c.QBittorrent.APIKey, "STAGECOACH_QBITTORRENT_API_KEY", "an API key of qBittorrent 5.2 or newer, instead of user and password")),
		text(&c.QBittorrent.SavePath, "STAGECOACH_QBITTORRENT_SAVE_PATH", "", "folder in qBittorrent's file system in which each download gets a folder; empty: qBittorrent's default folder"),
		torznabURLs(&c.Torznab.URLs),
		torznabKeys(&c.Torznab.Keys),
		duration(&c.Download.PollInterval, "STAGECOACH_DOWNLOAD_POLL_INTERVAL", "15s", 100*time.Millisecond, 5*time.Minute, "time between two polls of qBittorrent: one request for all downloads"),
		duration(&c.Download.Grace, "STAGECOACH_DOWNLOAD_GRACE", "60s", time.Second, day, "how long a torrent may be missing, not counting outages of qBittorrent"),
		duration(&c.Download.NextAfter, "STAGECOACH_DOWNLOAD_NEXT_AFTER", "2h", 0, 30*day, "how long a torrent may stand still until the next source of its download is tried, where it has several; 0: only one that fails makes room"),
		integer(&c.Download.MinFree, "STAGECOACH_DOWNLOAD_MIN_FREE", "0", 0, 1<<50, "new downloads wait while fewer bytes are free in qBittorrent's default folder; 0: no limit"),
		boolean(&c.Download.PrivateSources, "STAGECOACH_DOWNLOAD_PRIVATE_SOURCES", "false", "let .torrent files, trackers, web seeds and peers be at addresses that are not on the Internet, such as this machine's; else such addresses are taken out of torrents"),
		text(&c.Media.Root, "STAGECOACH_MEDIA_ROOT", "", "where workers find the folder of STAGECOACH_QBITTORRENT_SAVE_PATH (the same path, if that is empty); workers check the files of media only while a file .stagecoach-media is in it; empty: no checks"),
		integer(&c.Media.MaxPercent, "STAGECOACH_MEDIA_SWEEP_MAX_PERCENT", "5", 0, 100, "percent of the available media: a check that would mark more as missing marks none and raises an alert"),
		c.days("downloads", "STAGECOACH_RETENTION_DOWNLOADS", "365", "downloads that have ended, with their events; books and files stay"),
	}
}
