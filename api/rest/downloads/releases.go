package downloads

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
	"stagecoach/internal/torznab"
)

type searchInput struct {
	Q         string `query:"q" required:"true" minLength:"1" maxLength:"200" example:"a treatise on wheels" doc:"Words from the title, the author's name, or both"`
	MediaType string `query:"media_type" required:"true" enum:"text,audio" example:"text" doc:"text: e-books; audio: audiobooks"`
	BookID    string `query:"book_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a book" doc:"Book that the releases are for; those that have already failed for you and this book are marked and come last"`
}

// registerReleases adds the search for releases.
func (h *handlers) registerReleases() {
	releases := server.Group{Server: h.Server, Tag: "Downloads", Access: server.ForUsers, Scope: account.ScopeRead}

	server.Register(releases, server.Operation{
		Id: "find-releases", Route: "GET /v1/releases",
		Summary: "Search the indexers for releases of a book",
		Description: "Returns at most 50 releases, from the indexers that respond within 15 seconds. `failed` names those that fail. " +
			"Pass the `source_url` of a release to a new download, and those after it as `sources`.",
		Faults: []fault.Code{fault.ProviderUnavailable},
	}, h.findReleases)
}

func (h *handlers) findReleases(ctx context.Context, in *searchInput) (none shape.Releases, err error) {
	book, err := server.OptionalID(in.BookID, "book_id")
	if err != nil {
		return none, err
	}
	found, err := h.downloads.Search(ctx, server.Caller(ctx), in.Q, in.MediaType, book)
	if err != nil {
		return none, err
	}
	return shape.Releases{
		Items: shape.List(found.Releases, releaseOf),
		Failed: shape.List(found.Failed, func(f torznab.Failure) shape.IndexerFailure {
			return shape.IndexerFailure{Indexer: f.Indexer, Code: string(f.Code)}
		}),
	}, nil
}

func releaseOf(r downloads.Release) shape.Release {
	shown := shape.Release{
		Title: r.Title, Indexer: r.Indexer, SourceURL: r.SourceURL, Size: r.Size, Seeders: r.Seeders,
		Infohash: r.Infohash, FailedBefore: r.FailedBefore,
	}
	if !r.Published.IsZero() {
		shown.PublishedAt = &r.Published
	}
	return shown
}

// sourceFrom converts a download's source.
func sourceFrom(s shape.Source) download.Source {
	return download.Source{SourceURL: s.SourceURL, Title: s.Title, Indexer: s.Indexer, Size: s.Size, Infohash: s.Infohash}
}
