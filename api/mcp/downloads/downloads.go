// Package downloads has the tools for downloads and books.
package downloads

import (
	"context"
	"fmt"
	"net/url"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// Part returns the tools for downloads.
func Part() tool.Part {
	return tool.Part{
		Workload: lifecycle.WorkloadDownload, Options: options, Cancel: cancel, Status: tool.NewStatus("downloads", standing),
		Tools: []tool.Tool{find(), findReleases(), start()},
	}
}

type medium string

var _ = tool.Enum[medium]("text", "audio")

type brief struct {
	ID             tool.ID                    `json:"id"`
	Status         lifecycle.DownloadState    `json:"status"`
	BookID         tool.ID                    `json:"book_id"`
	MediaType      medium                     `json:"media_type"`
	Progress       float64                    `json:"progress" jsonschema:"0 to 1"`
	FailureReason  string                     `json:"failure_reason,omitempty"`
	LeftOut        int                        `json:"left_out,omitempty" jsonschema:"files of the medium in the torrent that were not imported"`
	SourcePlace    int                        `json:"source_place,omitempty" jsonschema:"of several sources"`
	Sources        int                        `json:"sources,omitempty"`
	AllowedActions []lifecycle.DownloadAction `json:"allowed_actions"`
	Others         origin                     `json:"written_by_others"`
}

type origin struct {
	BookTitle tool.Text `json:"book_title"`
	Source    tool.Text `json:"source,omitempty"`
}

func briefOf(d shape.Download) brief {
	shown := brief{
		ID: tool.ID(d.ID), Status: d.Status, BookID: tool.ID(d.BookID), MediaType: medium(d.MediaType), Progress: d.Progress,
		FailureReason: shape.Value(d.FailureReason), LeftOut: d.LeftOut, AllowedActions: d.AllowedActions,
		Others: origin{tool.Text(d.BookTitle), tool.Text(d.Source)},
	}
	if len(d.Sources) > 0 {
		shown.SourcePlace, shown.Sources = d.SourcePlace, len(d.Sources)
	}
	return shown
}

func standing(ctx context.Context, c *tool.Call) ([]brief, error) {
	page, err := tool.Get[shape.Page[shape.Download]](ctx, c, "/v1/downloads", url.Values{"limit": {"5"}})
	return shape.List(page.Items, briefOf), err
}

func path(id, of string) string { return "/v1/downloads/" + url.PathEscape(id) + of }

func options(ctx context.Context, c *tool.Call, id string) ([]tool.Option, error) {
	d, err := tool.Get[shape.Download](ctx, c, path(id, ""), nil)
	return tool.Allowed(d.AllowedActions), err
}

func cancel(ctx context.Context, c *tool.Call, id string, keepFiles bool) (string, error) {
	d, err := tool.Post[shape.Download](ctx, c, path(id, "/cancel"), tool.Body{"keep_files": keepFiles}, "")
	return string(d.Status), err
}

type search struct {
	Words  string     `json:"words,omitempty" jsonschema:"words or parts of words in the title and author's name together, in any order"`
	Limit  tool.Limit `json:"limit,omitempty" jsonschema:"default 20"`
	Cursor string     `json:"cursor,omitempty"`
}

type shelf struct {
	Books      []book `json:"books"`
	NextCursor string `json:"next_cursor,omitempty"`
}

type book struct {
	ID     tool.ID  `json:"id"`
	State  string   `json:"state" jsonschema:"Library: a medium is there; Archive: none"`
	Media  []medium `json:"media,omitempty" jsonschema:"available"`
	Others about    `json:"written_by_others"`
}

type about struct {
	Title  tool.Text `json:"title"`
	Author tool.Text `json:"author,omitempty"`
}

func bookOf(b shape.Book) book {
	shown := book{ID: tool.ID(b.ID), State: b.State, Others: about{tool.Text(b.Title), tool.Text(b.Author)}}
	for _, m := range b.Media {
		if m.Status == "available" {
			shown.Media = append(shown.Media, medium(m.MediaType))
		}
	}
	return shown
}

func find() tool.Tool {
	return tool.New(tool.About{
		Name: "books_find", Scopes: []account.Scope{account.ScopeLibrary}, Reads: true,
		Description: "Lists or searches the books of the library.",
	}, func(ctx context.Context, c *tool.Call, in search) (answer tool.Answer[shelf], err error) {
		query := tool.Query{"q": in.Words, "cursor": in.Cursor}.Page(in.Limit)
		page, err := tool.Get[shape.Page[shape.Book]](ctx, c, "/v1/books", query)
		return tool.Answer[shelf]{
			Value:   shelf{shape.List(page.Items, bookOf), shape.Value(page.NextCursor)},
			Summary: fmt.Sprintf("%d books.", len(page.Items)),
		}, err
	})
}

type request struct {
	BookID    tool.ID  `json:"book_id"`
	MediaType medium   `json:"media_type"`
	SourceURL string   `json:"source_url" jsonschema:"magnet link, or URL of a .torrent file"`
	Source    string   `json:"source,omitempty" jsonschema:"where the link was found"`
	Key       tool.Key `json:"idempotency_key,omitempty"`
}

func start() tool.Tool {
	return tool.New(tool.About{
		Name: "download", Scopes: []account.Scope{lifecycle.DownloadScope}, Repeatable: true,
		Outside:     true,
		Description: "Downloads a medium of a book by torrent. Returns the active download if there is one.",
	}, func(ctx context.Context, c *tool.Call, in request) (answer tool.Answer[brief], err error) {
		body := tool.Body{
			"book_id": in.BookID, "media_type": in.MediaType, "source_url": in.SourceURL, "source": in.Source,
		}
		d, err := tool.Post[shape.Download](ctx, c, "/v1/downloads", body, in.Key)
		return tool.Answer[brief]{Value: briefOf(d), Summary: fmt.Sprintf("Download %s is %s.", d.ID, d.Status)}, err
	})
}
