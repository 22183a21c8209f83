package download

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

var (
	userActive = lifecycle.Guard[store.Download]{Name: "the user is ACTIVE", Code: fault.UserNotActive, Holds: func(d store.Download) bool { return d.UserStatus == store.UserActive }}
	mediaReady = lifecycle.Guard[store.Download]{Name: "the medium is persisted with it", Code: fault.MediaNotReady, Holds: func(d store.Download) bool { return d.ContentPath != "" }}
)

// Rules is the lifecycle of a download job. Everything that moves a job asks this table.
var Rules = lifecycle.Table[store.DownloadStatus, store.DownloadAction, store.Download]{
	Entity: "download",
	Stages: []lifecycle.Stage[store.DownloadStatus]{
		{State: store.DownloadQueued, Means: "recorded; qBittorrent has not begun with it", LeftBy: "qBittorrent, the user, a failure"},
		{State: store.DownloadDownloading, Means: "qBittorrent downloads it", LeftBy: "qBittorrent, the user, a failure"},
		{State: store.DownloadCompleted, Means: "it is in the library", Terminal: true},
		{State: store.DownloadFailed, Means: "it ended without a result; the reason is recorded", Terminal: true},
		{State: store.DownloadCanceled, Means: "a person stopped it, and the torrent is gone", Terminal: true},
	},
	Rules: []lifecycle.Rule[store.DownloadStatus, store.DownloadAction, store.Download]{
		{Action: store.DownloadActionEnqueue, To: store.DownloadQueued, Who: []lifecycle.Role{lifecycle.Owner}, Guards: []lifecycle.Guard[store.Download]{userActive}, Event: "enqueued", Effect: "an active job for the same user, book and medium is given instead"},
		{Action: store.DownloadActionBegin, From: []store.DownloadStatus{store.DownloadQueued}, To: store.DownloadDownloading, Who: system, Event: "started", Effect: "also what is complete already passes through here"},
		{Action: store.DownloadActionComplete, From: []store.DownloadStatus{store.DownloadDownloading}, To: store.DownloadCompleted, Who: system, Guards: []lifecycle.Guard[store.Download]{mediaReady}, Event: "completed", Effect: "the medium is available, the book is in the Library"},
		{Action: store.DownloadActionFail, From: active, To: store.DownloadFailed, Who: system, Event: "failed", Effect: "failure_reason recorded"},
		{Action: store.DownloadActionCancel, From: active, To: store.DownloadCanceled, Who: []lifecycle.Role{lifecycle.Owner, lifecycle.Admin, lifecycle.System}, Event: "canceled", Effect: "once the torrent is removed, or left to the other jobs that hold it"},
	},
}

var (
	system = []lifecycle.Role{lifecycle.System}
	active = []store.DownloadStatus{store.DownloadQueued, store.DownloadDownloading}
)
