package downloads

import (
	"context"
	"fmt"
	"net/url"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
)

type releaseSearch struct {
	Words     string `json:"words" jsonschema:"from title and author"`
	MediaType medium `json:"media_type"`

	BookID tool.ID `json:"book_id,omitempty"`
}

type releaseList struct {
	Releases []release `json:"releases" jsonschema:"most seeders first"`
	Failed   []string  `json:"failed,omitempty" jsonschema:"indexers that returned no results"`
}

type release struct {
	Size    int64       `json:"size" jsonschema:"bytes; 0: unknown"`
	Seeders *int        `json:"seeders,omitempty"`
	Failed  bool        `json:"failed_before,omitempty"`
	Others  releaseText `json:"written_by_others"`
}

type releaseText struct {
	Title     tool.Text `json:"title"`
	Indexer   tool.Text `json:"indexer"`
	SourceURL tool.Text `json:"source_url"`
}

func releaseOf(r shape.Release) release {
	return release{
		Size: r.Size, Seeders: r.Seeders, Failed: r.FailedBefore,
		Others: releaseText{tool.Text(r.Title), tool.Text(r.Indexer), tool.Text(r.SourceURL)},
	}
}

func findReleases() tool.Tool {
	return tool.New(tool.About{
		Name: "releases_find", Scopes: []account.Scope{account.ScopeRead}, Reads: true, Outside: true,
		Description: "Searches the indexers for releases of a book. Pass a source_url to download.",
	}, func(ctx context.Context, c *tool.Call, in releaseSearch) (answer tool.Answer[releaseList], err error) {
		query := url.Values{"q": {in.Words}, "media_type": {string(in.MediaType)}}
		if in.BookID != "" {
			query.Set("book_id", string(in.BookID))
		}
		found, err := tool.Get[shape.Releases](ctx, c, "/v1/releases", query)
		value := releaseList{Releases: shape.List(found.Items[:min(len(found.Items), mostReleases)], releaseOf)}
		for _, f := range found.Failed {
			value.Failed = append(value.Failed, f.Indexer)
		}
		return tool.Answer[releaseList]{Value: value, Summary: fmt.Sprintf("%d releases.", len(value.Releases))}, err
	})
}

// mostReleases is how many releases an agent gets: magnet links are long.
const mostReleases = 10
