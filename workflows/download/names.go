// Package download is the third workload: a torrent is downloaded by qBittorrent for a book of the library.
//
// A job is one workflow. It hands the torrent to qBittorrent, then waits: one watcher for all jobs, the workflow
// download-sync, polls qBittorrent and signals a job only when its torrent has changed state, so that a download of ten
// hours costs no more events than one of a minute. What the torrent went through, the workflow decides by the table and
// writes into the record; what completes is in the library by the same transaction. A torrent that is not found starts
// a durable timer, at whose end a fresh look decides; a cancel ends the job when the torrent is known to be gone.
package download

// Names that operators and other programs use.
const (
	WorkflowType   = "Download"
	CancelSignal   = "cancel"
	StateQuery     = "state"
	ObservedSignal = "observed" // from the watcher: the torrent has changed state

	SyncType = "DownloadSync"
	SyncID   = "download-sync"

	// FileQueue is where .torrent files are fetched and handed to qBittorrent, a few at a time: however many there are, and however
	// long the sites behind them take, they hold up nothing else and little memory.
	FileQueue = "torrents"

	// SyncTitle names the watcher for operators.
	SyncTitle = "Watches over all downloads"
)
