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
	BookTitle       string                     `json:"book_title" example:"A Treatise on Wheels" doc:"Empty when the book is gone"`
	MediaType       string                     `json:"media_type" enum:"text,audio"`
	Status          lifecycle.DownloadState    `json:"status" enum:"queued,downloading,completed,failed,canceled"`
	Source          string                     `json:"source" example:"magnet" doc:"Where the link was found"`
	SourceURL       string                     `json:"source_url" example:"magnet:?xt=urn:btih:…"`
	SourcePlace     int                        `json:"source_place" example:"1" doc:"Which of its sources is tried, from 1: source, source_url and all that is said of the torrent are this one's"`
	Sources         []DownloadSource           `json:"sources" doc:"In the order in which they are tried; empty where there is only one"`
	ExternalJobID   *string                    `json:"external_job_id" example:"c12fe1c06bba254a9dc9f519b335aa7c1367a88a" doc:"The torrent's id in qBittorrent, as last seen; a hybrid torrent's changes when its metadata arrive"`
	ContentPath     *string                    `json:"content_path" example:"/downloads/job-9/A Treatise on Wheels.epub" doc:"Where the content lies in qBittorrent's file system, also when the book keeps the medium of another user; null unless completed"`
	Progress        float64                    `json:"progress" example:"0.42" doc:"0 to 1"`
	Size            int64                      `json:"size" example:"734003200" doc:"Bytes; 0 while unknown"`
	Speed           int64                      `json:"speed" example:"1200000" doc:"Bytes per second"`
	ETASeconds      *int64                     `json:"eta_seconds" example:"355" doc:"null while unknown"`
	FailureReason   *string                    `json:"failure_reason" example:"missing_external_job" doc:"null unless failed"`
	LastError       *string                    `json:"last_error" example:"PROVIDER_UNAVAILABLE" doc:"A code: what it has to wait for, or why it failed in more detail"`
	Attention       *string                    `json:"attention" example:"stalled" doc:"A code: why a person should look; null: no need"`
	Send            bool                       `json:"send" doc:"Its files are sent to its owner's chat when they are there"`
	SentAt          *time.Time                 `json:"sent_at" example:"2026-03-01T14:00:05Z" doc:"When the deliveries for send were made; null before. What could not be sent shows in attention"`
	Files           int                        `json:"files" example:"1" doc:"How many files of its medium the library folder has; 0: nothing can be sent"`
	WaitsFor        *string                    `json:"waits_for" example:"qbittorrent" doc:"qbittorrent: to take, download or remove the torrent; torrent: it is missing; progress: there has been none for long; library: to take the files of the complete torrent, or a person who repeats that; null: it has ended"`
	CancelRequested bool                       `json:"cancel_requested" doc:"Somebody wants it to end; that is tried until the torrent is known to be gone"`
	AllowedActions  []lifecycle.DownloadAction `json:"allowed_actions" example:"[\"cancel\"]" doc:"What you may do now"`
	WorkflowID      string                     `json:"workflow_id" example:"download/3/4/text" doc:"In Temporal; the job before and after it for the same user, book and medium have the same"`
	CreatedAt       time.Time                  `json:"created_at_utc" example:"2026-03-01T12:00:00Z"`
	UpdatedAt       time.Time                  `json:"updated_at_utc" example:"2026-03-01T12:00:00Z"`
	CompletedAt     *time.Time                 `json:"completed_at_utc" example:"2026-03-01T14:00:00Z" doc:"null unless completed"`
	FirstNotFoundAt *time.Time                 `json:"first_not_found_at_utc" example:"2026-03-01T13:00:00Z" doc:"Since when qBittorrent does not have the torrent; null while it does"`
	DeadlineAt      *time.Time                 `json:"deadline_at" example:"2026-03-01T13:01:00Z" doc:"When it fails unless the torrent is found again; null while it is not missing"`
}

// DownloadSource is one of several sources of a download. Its link is not shown: it may hold a key.
type DownloadSource struct {
	Place    int     `json:"place" example:"1"`
	Title    string  `json:"title" example:"A. Cartwright - A Treatise on Wheels (epub)"`
	Indexer  string  `json:"indexer" example:"Public Domain Torrents"`
	Size     int64   `json:"size" example:"1843200" doc:"Bytes; 0 while unknown"`
	Infohash string  `json:"infohash" example:"c12fe1c06bba254a9dc9f519b335aa7c1367a88a" doc:"Empty when unknown"`
	Outcome  *string `json:"outcome" example:"stalled" doc:"A code: why another one is tried; null: it was not tried, or is being tried"`
}

// AsksFor says whether a link may be the one that the download was asked for with: after its first source that is not
// known any more.
func (d Download) AsksFor(link string) bool { return d.SourceURL == link || len(d.Sources) > 0 }

// Ended says whether nothing happens to the download any more.
func (d Download) Ended() bool { return lifecycle.Download.Terminal(d.Status) }
