package app

import (
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
)

// Downloads makes the service of downloads.
func (a *Connections) Downloads() *service.Downloads {
	counted := a.Metrics.Download()
	startAtZero(counted.Ended, lifecycle.Download.Ended()...)
	return &service.Downloads{
		Temporal: a.Temporal, Store: a.Store, Log: a.Log, Off: a.Config.QBittorrent.URL == "", Payloads: a.Payloads,
		Grace: a.Config.Download.Grace,
		// Long enough to learn that qBittorrent does not answer; less than a request over HTTP may take.
		CancelPatience: min(a.Config.QBittorrent.Timeout+2*time.Second, 15*time.Second),
		OnEnded:        func(state lifecycle.DownloadState) { counted.Ended.WithLabelValues(string(state)).Inc() },
		OnStarted:      func(mediaType string) { counted.Started.WithLabelValues(mediaType).Inc() },
	}
}

// pollGap is how old qBittorrent's last answer may grow; 0: downloads are off.
func (a *Connections) pollGap() time.Duration {
	if a.Config.QBittorrent.URL == "" {
		return 0
	}
	return a.Config.Download.PollGap()
}
