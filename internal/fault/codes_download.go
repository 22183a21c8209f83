package fault

// A download refuses an action, or waits.
const (
	BookNotFound     Code = "BOOK_NOT_FOUND"
	DownloadNotFound Code = "DOWNLOAD_NOT_FOUND"
	NoFreeSpace      Code = "NO_FREE_SPACE"   // it waits for space on qBittorrent's disk
	TorrentStopped   Code = "TORRENT_STOPPED" // it waits until someone starts the torrent in qBittorrent
	MediaNotReady    Code = "MEDIA_NOT_READY" // the download has no location yet, or is not in the library
	TooManyFiles     Code = "TOO_MANY_FILES"  // to send at once; details: files, maximum
)

// The address of a .torrent file is not usable.
const (
	SourceUnavailable Code = "SOURCE_UNAVAILABLE" // its server does not answer, or not now
	SourceRefused     Code = "SOURCE_REFUSED"     // its server refuses
	SourceForbidden   Code = "SOURCE_FORBIDDEN"   // it leads to an address that is not on the Internet
	TorrentElsewhere  Code = "TORRENT_ELSEWHERE"  // qBittorrent has it in a category that is not the service's
	SourceNotTorrent  Code = "SOURCE_NOT_TORRENT" // or too big for one
	TorrentTooLarge   Code = "TORRENT_TOO_LARGE"  // its content: too many files or bytes, or too long a path
)

// Reasons why a download failed, or needs a person's attention.
const (
	MissingExternalJob Code = "missing_external_job" // the torrent is gone, past the grace
	ProviderError      Code = "provider_error"       // the torrent is in error
	EnqueueFailed      Code = "enqueue_failed"       // qBittorrent rejects it, or its source does not provide it
	EnqueueUnavailable Code = "enqueue_unavailable"  // qBittorrent was unreachable the whole time
	BookGone           Code = "book_not_found"       // the book was removed meanwhile
	Stalled            Code = "stalled"              // no progress for a long time
)

// The downloaded files are not in the library folder.
const (
	ImportFailed     Code = "import_failed"     // a person should check, and retry it; the last error is more specific
	MediumUnsuitable Code = "MEDIUM_UNSUITABLE" // the torrent has no file of the medium, or a wrong one
)
