package lifecycle

import (
	"stagecoach/internal/fault"
)

// DownloadState is a state of a download.
type DownloadState string

// The statuses of a download job.
const (
	DownloadQueued      DownloadState = "queued"
	DownloadDownloading DownloadState = "downloading"
	DownloadCompleted   DownloadState = "completed"
	DownloadFailed      DownloadState = "failed"
	DownloadCanceled    DownloadState = "canceled"
)

// DownloadAction is an action on a download job.
type DownloadAction string

// The actions of a download job's table.
const (
	DownloadActionEnqueue  DownloadAction = "enqueue"
	DownloadActionBegin    DownloadAction = "begin"
	DownloadActionComplete DownloadAction = "complete"
	DownloadActionFail     DownloadAction = "fail"
	DownloadActionCancel   DownloadAction = "cancel"

	DownloadActionRetryImport DownloadAction = "retry_import"
)

// Events of a download that leave the status unchanged.
const (
	DownloadWentMissing = "went_missing" // qBittorrent no longer has it; the grace begins
	DownloadFoundAgain  = "found_again"
	DownloadStalled     = "stalled"   // no progress for a long time
	DownloadStopped     = "stopped"   // someone, or a rule, stopped its torrent in qBittorrent
	DownloadRecovered   = "recovered" // there is progress again, or can be
	DownloadNotSent     = "not_sent"  // its files could not be sent to its owner as requested

	DownloadImportFailed  = "import_failed"  // its files could not be put into the library folder
	DownloadImportRetried = "import_retried" // a person has retried the import

	DownloadNextSource    = "next_source"    // the source failed or stalled: another one is tried
	DownloadEarlierSource = "earlier_source" // an earlier source's torrent is complete: the job returns to it
)

// DownloadFacts are what the guards check.
type DownloadFacts struct {
	UserActive bool
	MediaReady bool // the finished medium is recorded with the job

	ImportFailed bool // and waits for a person to retry it
}

// Names used by operators and other programs.
const (
	DownloadType           = "Download"
	DownloadScope          = "downloads" // of tokens that add books, and request and cancel downloads
	DownloadObservedSignal = "observed"  // from the watcher: the torrent's state has changed
	DownloadEarlierSignal  = "earlier"   // from the watcher: another than the current source's torrent is complete

	DownloadSyncType = "DownloadSync"
	DownloadSyncID   = "download-sync"

	// TorrentQueue is the task queue in which .torrent files are fetched and handed to qBittorrent, a few at a time, so
	// that slow sites and many files delay no other work and use little memory.
	TorrentQueue = "torrents"

	// DownloadSyncTitle is the watcher's title for operators.
	DownloadSyncTitle = "Watches over all downloads"
)

var (
	downloadUserActive = Guard[DownloadFacts]{Name: "the user is ACTIVE", Code: fault.UserNotActive, Holds: func(f DownloadFacts) bool { return f.UserActive }}
	mediaReady         = Guard[DownloadFacts]{Name: "the medium is persisted with it", Code: fault.MediaNotReady, Holds: func(f DownloadFacts) bool { return f.MediaReady }}
	importFailed       = Guard[DownloadFacts]{Name: "its import has failed", Code: fault.InvalidTransition, Holds: func(f DownloadFacts) bool { return f.ImportFailed }}
)

// Download is the lifecycle of a download job. All transitions follow this table.
var Download = Table[DownloadState, DownloadAction, DownloadFacts]{
	Entity: "download",
	States: []State[DownloadState]{
		{State: DownloadQueued, Means: "recorded; qBittorrent has not started it", LeftBy: "qBittorrent, the user, a failure"},
		{State: DownloadDownloading, Means: "qBittorrent downloads it", LeftBy: "qBittorrent, the user, a failure"},
		{State: DownloadCompleted, Means: "its content is there", Terminal: true},
		{State: DownloadFailed, Means: "it ended without a result; the reason is recorded", Terminal: true},
		{State: DownloadCanceled, Means: "a person stopped it, and the torrent is gone", Terminal: true},
	},
	Rules: []Rule[DownloadState, DownloadAction, DownloadFacts]{
		{Action: DownloadActionEnqueue, To: DownloadQueued, Who: []Role{Owner}, Guards: []Guard[DownloadFacts]{downloadUserActive}, Event: "enqueued", Effect: "an active job for the same user, book and medium is given instead"},
		{Action: DownloadActionBegin, From: []DownloadState{DownloadQueued}, To: DownloadDownloading, Who: systemOnly, Event: "started", Effect: "a torrent that is complete already passes this state too"},
		{Action: DownloadActionComplete, From: []DownloadState{DownloadDownloading}, To: DownloadCompleted, Who: systemOnly, Guards: []Guard[DownloadFacts]{mediaReady}, Event: "completed", Effect: "the book has the medium, this copy or the one before, and is in the Library"},
		{Action: DownloadActionRetryImport, From: []DownloadState{DownloadDownloading}, Who: []Role{Owner, Admin}, Guards: []Guard[DownloadFacts]{importFailed}, Event: DownloadImportRetried, Effect: "its files are put into the library folder, if they can be now"},
		{Action: DownloadActionFail, From: downloadLive, To: DownloadFailed, Who: systemOnly, Event: "failed", Effect: "failure_reason recorded"},
		{Action: DownloadActionCancel, From: downloadLive, To: DownloadCanceled, Who: []Role{Owner, Admin, System}, Event: "canceled", Effect: "after the torrent is removed, or left to the other downloads that need it"},
	},
}

var downloadLive = []DownloadState{DownloadQueued, DownloadDownloading}

// DownloadWaits are the facts that decide what a download waits for. Its record and its workflow have all of them.
type DownloadWaits struct {
	State      DownloadState
	Ending     bool       // its torrent is to be removed
	Missing    bool       // qBittorrent does not have the torrent
	Complete   bool       // the torrent has all bytes
	NoRoom     bool       // there is too little disk space
	NoMetadata bool       // qBittorrent has a magnet link and is still fetching its metadata
	Attention  fault.Code // why a person should check; empty: no need
}

// DownloadWaitsFor is what a download waits for, or empty.
func DownloadWaitsFor(d DownloadWaits) string {
	switch {
	case Download.Terminal(d.State):
		return ""
	case d.Ending:
		return WaitsForQBittorrent
	case d.Missing:
		return WaitsForTorrent
	case d.Complete || d.Attention == fault.ImportFailed:
		return WaitsForImport
	case d.NoRoom:
		return WaitsForSpace
	case d.Attention == fault.TorrentStopped:
		return WaitsForStart
	case d.Attention == fault.Stalled:
		return WaitsForPeers
	case d.NoMetadata:
		return WaitsForMetadata
	case d.State == DownloadQueued:
		return WaitsForSlot
	default:
		return WaitsForQBittorrent
	}
}
