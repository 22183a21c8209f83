package shape

import (
	"time"
)

// File is an entry of the shared folder.
type File struct {
	FileID     string    `json:"file_id" example:"42"`
	Name       string    `json:"name" example:"film.mkv"`
	Kind       string    `json:"kind" enum:"file,folder"`
	Path       string    `json:"path" example:"/films/film.mkv" doc:"In the shared folder, which is /"`
	Size       int64     `json:"size" example:"734003200" doc:"Bytes; 0 for a folder"`
	ModifiedAt time.Time `json:"modified_at" example:"2026-03-01T12:00:00Z"`
}

// FileList is a page of files, with facts about all pages.
type FileList struct {
	Page[File]
	Folder   *File `json:"folder,omitempty" doc:"The folder that was listed; absent in a search"`
	Total    *int  `json:"total,omitempty" example:"2" doc:"Entries in the whole folder; absent in a search"`
	Stale    bool  `json:"stale" doc:"The storage is unreachable: these are its last known contents"`
	Indexing bool  `json:"indexing" doc:"The shared folder is being read for the first time: a search may soon find more"`
}
