package parts_test

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/torznab"
)

// indexers finds two releases, and has one failing indexer.
type indexers struct{}

func (indexers) Search(_ context.Context, words, _ string) torznab.Found {
	return torznab.Found{
		Releases: []torznab.Release{
			{Title: words, Indexer: "Books", SourceURL: "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88b", Seeders: new(3)},
			{Title: "another", Indexer: "Books", SourceURL: "https://example.org/another.torrent", Size: 1000},
		},
		Failed: []torznab.Failure{{Indexer: "jackett:9117", Code: fault.SourceUnavailable}},
	}
}
