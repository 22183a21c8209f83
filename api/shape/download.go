package shape

import (
	"time"

	"stagecoach/internal/lifecycle"
)

// Download is a download as one caller sees it.
type Download struct {
	ID              string                     `json:"id" example:"9"`
	UserID          string                     `json:"user_id" example:"3"`
	BookID          string                     `json:"book_id" example:"4"`
	BookTitle       string                     `json:"book_title" example:"A Treatise on Wheels" doc:"Empty if the book is deleted"`
	MediaType       string                     `json:"media_type" enum:"text,audio"`
	Status          lifecycle.DownloadState    `json:"status" enum:"queued,downloading,completed,failed,canceled"`
	Source          string                     `json:"source" example:"magnet" doc:"Where the link was found"`
	SourceURL       string                     `json:"source_url" example:"magnet:?xt=urn:btih:…"`
	SourcePlace     int                        `json:"source_place" example:"1" doc:"Number of the source being tried, from 1: source, source_url and all torrent fields describe this one"`
	Sources         []DownloadSource           `json:"sources" doc:"In the order of attempts; empty if there is only one"`
	ExternalJobID   *string                    `json:"external_job_id" example:"c12fe1c06bba254a9dc9f519b335aa7c1367a88a" doc:"Torrent ID in qBittorrent, as last seen; a hybrid torrent's changes when its metadata arrives"`
	ContentPath     *string                    `json:"content_path" example:"/downloads/job-9/A Treatise on Wheels.epub" doc:"Path of the content in qBittorrent's file system; null unless completed"`
	Progress        float64                    `json:"progress" example:"0.42" doc:"0 to 1"`
	Size            int64                      `json:"size" example:"734003200" doc:"Bytes; 0: unknown"`
	Speed           int64                      `json:"speed" example:"1200000" doc:"Bytes per second"`
	ETASeconds      *int64                     `json:"eta_seconds" example:"355" doc:"null while unknown"`
	FailureReason   *string                    `json:"failure_reason" example:"missing_external_job" doc:"null unless failed"`
	LastError       *string                    `json:"last_error" example:"PROVIDER_UNAVAILABLE" doc:"A code: what it waits for, or in more detail why it failed"`
	OtherCategory   *string                    `json:"other_category" example:"sonarr" doc:"Category in which qBittorrent has the torrent for someone else; null unless last_error is TORRENT_ELSEWHERE"`
	Attention       *string                    `json:"attention" example:"stalled" doc:"A code: why a person should check it; null: no need"`
	Send            bool                       `json:"send" doc:"Whether its files are sent to its owner's chat once they are in the library"`
	SentAt          *time.Time                 `json:"sent_at" example:"2026-03-01T14:00:05Z" doc:"When the deliveries for send were created; null before that. attention shows what could not be sent"`
	Files           int                        `json:"files" example:"1" doc:"Number of files that it added to the library folder; 0: nothing can be sent"`
	LeftOut         int                        `json:"left_out" example:"0" doc:"Number of other files of the medium in its torrent that were not imported: samples, other works, or a copy in another format"`
	InBook          bool                       `json:"in_book" doc:"Whether the book uses its copy. If the book has another copy, a completed download keeps its own, and only this download can send those files"`
	WaitsFor        *string                    `json:"waits_for" example:"qbittorrent" doc:"slot: a slot for active downloads; metadata: of its magnet link; qbittorrent: to download or remove the torrent; torrent: it is missing; space: disk space; start: of the torrent, which someone has stopped in qBittorrent; peers: no progress for a long time; import: of the complete torrent's files into the library folder, or a person to retry it; null: it has ended"`
	CancelRequested bool                       `json:"cancel_requested" doc:"Cancellation was requested; removal is retried until the torrent is confirmed gone"`
	AllowedActions  []lifecycle.DownloadAction `json:"allowed_actions" example:"[\"cancel\"]" doc:"Actions allowed to you now"`
	WorkflowID      string                     `json:"workflow_id" example:"download/3/4/text" doc:"Workflow ID in Temporal; shared by successive downloads of the same user, book and medium"`
	CreatedAt       time.Time                  `json:"created_at_utc" example:"2026-03-01T12:00:00Z"`
	UpdatedAt       time.Time                  `json:"updated_at_utc" example:"2026-03-01T12:00:00Z"`
	CompletedAt     *time.Time                 `json:"completed_at_utc" example:"2026-03-01T14:00:00Z" doc:"null unless completed"`
	FirstNotFoundAt *time.Time                 `json:"first_not_found_at_utc" example:"2026-03-01T13:00:00Z" doc:"Since when the torrent is missing in qBittorrent; null: it is not"`
	DeadlineAt      *time.Time                 `json:"deadline_at" example:"2026-03-01T13:01:00Z" doc:"When it fails unless the torrent is found again; null: it is not missing"`
}

// DownloadSource is one of a download's sources. Its link is not shown: it may contain a key.
type DownloadSource struct {
	Place    int     `json:"place" example:"1"`
	Title    string  `json:"title" example:"A. Cartwright - A Treatise on Wheels (epub)"`
	Indexer  string  `json:"indexer" example:"Public Domain Torrents"`
	Size     int64   `json:"size" example:"1843200" doc:"Bytes; 0: unknown"`
	Infohash string  `json:"infohash" example:"c12fe1c06bba254a9dc9f519b335aa7c1367a88a" doc:"Empty if unknown"`
	Outcome  *string `json:"outcome" example:"stalled" doc:"A code: why another source is tried; null: this one was not tried yet, or is being tried"`
}

// KeptApart reports whether the download keeps a copy of its own, because its book has another one.
func (d Download) KeptApart() bool {
	return d.Status == lifecycle.DownloadCompleted && !d.InBook && d.BookTitle != ""
}

// AsksFor reports whether the download may have been requested with a link. With several sources the first link is no
// longer known, so any may match.
func (d Download) AsksFor(link string) bool { return d.SourceURL == link || len(d.Sources) > 0 }

// Ended reports whether the download's status is final.
func (d Download) Ended() bool { return lifecycle.Download.Terminal(d.Status) }
