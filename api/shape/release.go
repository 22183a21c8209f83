package shape

import "time"

// Releases is the result of a search for releases.
type Releases struct {
	Items  []Release        `json:"items" doc:"Most seeders first; those that have already failed for you and the book last"`
	Failed []IndexerFailure `json:"failed" doc:"Indexers that returned no results"`
}

// Release is a torrent found by an indexer.
type Release struct {
	Title       string     `json:"title" example:"A. Cartwright - A Treatise on Wheels (epub)"`
	Indexer     string     `json:"indexer" example:"Public Domain Torrents"`
	SourceURL   string     `json:"source_url" example:"magnet:?xt=urn:btih:…" doc:"For a download: a magnet link, or the URL of a .torrent file. A URL served only by the indexer omits its key; the service adds it"`
	Size        int64      `json:"size" example:"1843200" doc:"Bytes; 0: unknown"`
	Seeders     *int       `json:"seeders" example:"12" doc:"Number of peers with all of it; null: unknown"`
	PublishedAt *time.Time `json:"published_at" example:"2026-02-01T12:00:00Z" doc:"null: unknown"`
	Infohash    string     `json:"infohash" example:"c12fe1c06bba254a9dc9f519b335aa7c1367a88a" doc:"Empty if unknown"`

	FailedBefore bool `json:"failed_before" doc:"It has failed or stalled for you and this medium of the book: it is tried only as the first source"`
}

// Source converts the release to a source of a download.
func (r Release) Source() Source {
	return Source{SourceURL: r.SourceURL, Title: r.Title, Indexer: r.Indexer, Size: r.Size, Infohash: r.Infohash}
}

// IndexerFailure is an indexer that returned no results.
type IndexerFailure struct {
	Indexer string `json:"indexer" example:"prowlarr:9696/1"`
	Code    string `json:"code" example:"SOURCE_UNAVAILABLE" doc:"SOURCE_UNAVAILABLE: no response, or temporarily none; SOURCE_REFUSED: it rejects the search"`
}

// Source is one of the sources that a download may have.
type Source struct {
	SourceURL string `json:"source_url" minLength:"1" maxLength:"8192" example:"magnet:?xt=urn:btih:…" doc:"Magnet link, or http(s) URL of a .torrent file"`
	Title     string `json:"title,omitempty" maxLength:"300" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"A. Cartwright - A Treatise on Wheels (epub)"`
	Indexer   string `json:"indexer,omitempty" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Public Domain Torrents"`
	Size      int64  `json:"size,omitempty" minimum:"0" maximum:"1125899906842624" example:"1843200" doc:"Bytes; 0: unknown"`
	Infohash  string `json:"infohash,omitempty" pattern:"^([0-9a-f]{40}|[0-9a-f]{64})?$" patternDescription:"an infohash in lower-case hex" example:"c12fe1c06bba254a9dc9f519b335aa7c1367a88a"`
}
