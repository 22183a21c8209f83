package shape

import (
	"time"
)

// Book is a book of the library.
type Book struct {
	ID        string    `json:"id" example:"4"`
	Title     string    `json:"title" example:"A Treatise on Wheels"`
	Author    string    `json:"author" example:"A. Cartwright" doc:"Empty when unknown"`
	State     string    `json:"state" enum:"Library,Archive" doc:"Library: at least one of its media is available"`
	Media     []Media   `json:"media" doc:"What downloads have brought"`
	CreatorID string    `json:"creator_id" example:"3"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt time.Time `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// Sending is a medium that is sent to a chat.
type Sending struct {
	Deliveries []SentFile `json:"deliveries" doc:"One for each file, in reading order"`
}

// SentFile is a file of a medium that is sent to a chat.
type SentFile struct {
	DeliveryID string `json:"delivery_id" example:"17"`
	FileName   string `json:"file_name" example:"A Treatise on Wheels.epub"`
	Size       int64  `json:"size" example:"734003" doc:"Bytes"`
}

// Media is a medium of a book that a download brought.
type Media struct {
	MediaType string  `json:"media_type" enum:"text,audio"`
	Status    string  `json:"status" enum:"available,deleted,missing"`
	Path      string  `json:"path" example:"/downloads/job-9/wheels.epub" doc:"In the library folder, when it is relative, else in qBittorrent's file system; a folder when there are several files"`
	Files     int     `json:"files" example:"1" doc:"How many files the library folder has of it; 0: nothing can be sent"`
	SourceURL *string `json:"source_url" example:"magnet:?xt=urn:btih:…" doc:"Of the first download that brought it; null for others than its owner and administrators"`
}
