package download

// Source is a torrent that a job may download.
type Source struct {
	SourceURL string `json:"source_url"`
	Title     string `json:"title"`
	Indexer   string `json:"indexer"`  // where the link was found
	Size      int64  `json:"size"`     // bytes; 0: unknown
	Infohash  string `json:"infohash"` // lower-case hex, of version 1 or 2; empty: unknown
}

// MaxSources is how many sources a job may have.
const MaxSources = 10
