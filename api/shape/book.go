package shape

import (
	"time"
)

// Book is a book of the library.
type Book struct {
	ID        string    `json:"id" example:"4"`
	Title     string    `json:"title" example:"A Treatise on Wheels"`
	Author    string    `json:"author" example:"A. Cartwright" doc:"Empty if unknown"`
	State     string    `json:"state" enum:"Library,Archive" doc:"Library: at least one medium is available"`
	Media     []Media   `json:"media" doc:"Media that downloads have added"`
	CreatorID *string   `json:"creator_id" example:"3" doc:"null, except for the creator and administrators"`
	MayChange bool      `json:"may_change" example:"true" doc:"Whether you may correct or delete it: for its creator while it has no media, and for administrators"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt time.Time `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// Sending is the request to send a medium to a chat.
type Sending struct {
	Deliveries []SentFile `json:"deliveries" doc:"One per file, in reading order"`
}

// SentFile is one sent file of a medium.
type SentFile struct {
	DeliveryID string `json:"delivery_id" example:"17"`
	FileName   string `json:"file_name" example:"A Treatise on Wheels.epub"`
	Size       int64  `json:"size" example:"734003" doc:"Bytes"`
}

// Media is a medium of a book that a download brought.
type Media struct {
	MediaType string  `json:"media_type" enum:"text,audio"`
	Status    string  `json:"status" enum:"available,deleted,missing"`
	Path      string  `json:"path" example:"/downloads/job-9/wheels.epub" doc:"Relative: in the library folder; absolute: in qBittorrent's file system; a folder if there are several files"`
	Files     int     `json:"files" example:"1" doc:"Number of its files in the library folder; 0: nothing can be sent"`
	SourceURL *string `json:"source_url" example:"magnet:?xt=urn:btih:…" doc:"Of the first download that added it; null, except for its owner and administrators"`
}
