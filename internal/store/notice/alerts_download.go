package notice

import "stagecoach/internal/store/core"

// Kinds of alerts about downloads and their media.
const (
	AlertDownloadsAway  = "downloads_unreachable"   // qBittorrent, for a long time
	AlertDownloadsLogin = "downloads_login_refused" // by qBittorrent
	AlertDownloadsSpace = "downloads_space_low"
	AlertMediaMissing   = "media_missing" // more than a sweep may mark
)

var DownloadAlerts = []core.AlertKind{
	{Name: AlertDownloadsAway, Severity: core.Warn},
	{Name: AlertDownloadsLogin, Severity: core.Warn},
	{Name: AlertDownloadsSpace, Severity: core.Warn},
	{Name: AlertMediaMissing, Severity: core.Warn},
}
