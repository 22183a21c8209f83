package download

// Source is where a torrent can be had from: a release that a search has found, or a link of a person.
type Source struct {
	SourceURL, Title, Indexer string
	Size                      int64
	Infohash                  string
}
