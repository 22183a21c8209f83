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

// DownloadAction is what can be done to a download job.
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

// Types of events of a download that are no transitions: the status stays as it is.
const (
	DownloadWentMissing = "went_missing" // qBittorrent no longer has it; the grace begins
	DownloadFoundAgain  = "found_again"
	DownloadStalled     = "stalled"   // no progress for a long time
	DownloadRecovered   = "recovered" // there is progress again
	DownloadNotSent     = "not_sent"  // its files could not be sent to its owner, as was wished

	DownloadImportFailed  = "import_failed"  // its files could not be put into the library folder
	DownloadImportRetried = "import_retried" // a person has repeated that

	DownloadNextSource    = "next_source"    // the source has failed or stands still: another one is tried
	DownloadEarlierSource = "earlier_source" // the torrent of an earlier source is complete: the job returns to it
)

// DownloadFacts are what the guards check.
type DownloadFacts struct {
	UserActive bool
	MediaReady bool // the finished medium is recorded with the job

	ImportFailed bool // and waits for a person who repeats it
}

// Names that operators and other programs use.
const (
	DownloadType           = "Download"
	DownloadScope          = "downloads" // of tokens that add books, ask for downloads and cancel them
	DownloadObservedSignal = "observed"  // from the watcher: the torrent has changed state
	DownloadEarlierSignal  = "earlier"   // from the watcher: the torrent of another source than the current one is complete

	DownloadSyncType = "DownloadSync"
	DownloadSyncID   = "download-sync"

	// TorrentQueue is the task queue in which .torrent files are fetched and handed to qBittorrent, a few at a time. Slow
	// sites and many files therefore delay no other work and use little memory.
	TorrentQueue = "torrents"

	// DownloadSyncTitle names the watcher for operators.
	DownloadSyncTitle = "Watches over all downloads"
)

var (
	downloadUserActive = Guard[DownloadFacts]{Name: "the user is ACTIVE", Code: fault.UserNotActive, Holds: func(f DownloadFacts) bool { return f.UserActive }}
	mediaReady         = Guard[DownloadFacts]{Name: "the medium is persisted with it", Code: fault.MediaNotReady, Holds: func(f DownloadFacts) bool { return f.MediaReady }}
	importFailed       = Guard[DownloadFacts]{Name: "its import has failed", Code: fault.InvalidTransition, Holds: func(f DownloadFacts) bool { return f.ImportFailed }}
)

// Download is the lifecycle of a download job. Everything that moves a job asks this table.
var Download = Table[DownloadState, DownloadAction, DownloadFacts]{
	Entity: "download",
	States: []State[DownloadState]{
		{State: DownloadQueued, Means: "recorded; qBittorrent has not started it", LeftBy: "qBittorrent, the user, a failure"},
		{State: DownloadDownloading, Means: "qBittorrent downloads it", LeftBy: "qBittorrent, the user, a failure"},
		{State: DownloadCompleted, Means: "it is in the library", Terminal: true},
		{State: DownloadFailed, Means: "it ended without a result; the reason is recorded", Terminal: true},
		{State: DownloadCanceled, Means: "a person stopped it, and the torrent is gone", Terminal: true},
	},
	Rules: []Rule[DownloadState, DownloadAction, DownloadFacts]{
		{Action: DownloadActionEnqueue, To: DownloadQueued, Who: []Role{Owner}, Guards: []Guard[DownloadFacts]{downloadUserActive}, Event: "enqueued", Effect: "an active job for the same user, book and medium is given instead"},
		{Action: DownloadActionBegin, From: []DownloadState{DownloadQueued}, To: DownloadDownloading, Who: systemOnly, Event: "started", Effect: "a torrent that is complete already passes this state too"},
		{Action: DownloadActionComplete, From: []DownloadState{DownloadDownloading}, To: DownloadCompleted, Who: systemOnly, Guards: []Guard[DownloadFacts]{mediaReady}, Event: "completed", Effect: "the medium is available, the book is in the Library"},
		{Action: DownloadActionRetryImport, From: []DownloadState{DownloadDownloading}, Who: []Role{Owner, Admin}, Guards: []Guard[DownloadFacts]{importFailed}, Event: DownloadImportRetried, Effect: "its files are put into the library folder, if they can be now"},
		{Action: DownloadActionFail, From: downloadLive, To: DownloadFailed, Who: systemOnly, Event: "failed", Effect: "failure_reason recorded"},
		{Action: DownloadActionCancel, From: downloadLive, To: DownloadCanceled, Who: []Role{Owner, Admin, System}, Event: "canceled", Effect: "after the torrent is removed, or left to the other downloads that need it"},
	},
}

var downloadLive = []DownloadState{DownloadQueued, DownloadDownloading}

// DownloadWaitsFor is what a download waits for; empty: nothing. ending: its torrent is to be removed. complete: it has
// all bytes.
func DownloadWaitsFor(state DownloadState, ending, missing, complete bool, attention fault.Code) string {
	switch {
	case Download.Terminal(state):
		return ""
	case ending:
		return WaitsForQBittorrent
	case missing:
		return WaitsForTorrent
	case complete || attention == fault.ImportFailed:
		return WaitsForLibrary
	case attention == fault.Stalled:
		return WaitsForProgress
	default:
		return WaitsForQBittorrent
	}
}
