package fault

// A download refuses an action, or waits.
const (
	BookNotFound     Code = "BOOK_NOT_FOUND"
	DownloadNotFound Code = "DOWNLOAD_NOT_FOUND"
	NoFreeSpace      Code = "NO_FREE_SPACE"   // it waits until there is room on qBittorrent's disk
	MediaNotReady    Code = "MEDIA_NOT_READY" // what was downloaded has no place yet, or is not in the library
	TooManyFiles     Code = "TOO_MANY_FILES"  // to send at once; details: files, maximum
)

// The address of a .torrent file is not usable.
const (
	SourceUnavailable Code = "SOURCE_UNAVAILABLE" // its server does not answer, or not now
	SourceRefused     Code = "SOURCE_REFUSED"     // its server says no
	SourceForbidden   Code = "SOURCE_FORBIDDEN"   // it leads to an address that is not on the Internet
	SourceNotTorrent  Code = "SOURCE_NOT_TORRENT" // or too big for one
)

// Reasons why a download failed, or needs a person's attention.
const (
	MissingExternalJob Code = "missing_external_job" // the torrent is gone, past the grace
	ProviderError      Code = "provider_error"       // the torrent is in error
	EnqueueFailed      Code = "enqueue_failed"       // qBittorrent does not take it, or its source does not give it
	EnqueueUnavailable Code = "enqueue_unavailable"  // qBittorrent could not be reached all the time
	BookGone           Code = "book_not_found"       // the book was removed meanwhile
	Stalled            Code = "stalled"              // no progress for long
)

// What was downloaded is not in the library folder.
const (
	ImportFailed     Code = "import_failed"     // a person should look, and repeat it; the last error says more
	MediumUnsuitable Code = "MEDIUM_UNSUITABLE" // the torrent has no file of the medium, or a wrong one
)
