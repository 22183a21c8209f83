package notice

// Kinds of alerts about downloads and their media.
const (
	AlertDownloadsAway  = "downloads_unreachable"   // qBittorrent, for long
	AlertDownloadsLogin = "downloads_login_refused" // by qBittorrent
	AlertDownloadsSpace = "downloads_space_low"
	AlertMediaMissing   = "media_missing" // more than a sweep may mark
)

// DownloadAlerts lists them.
var DownloadAlerts = []string{AlertDownloadsAway, AlertDownloadsLogin, AlertDownloadsSpace, AlertMediaMissing}
