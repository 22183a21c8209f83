package download

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/store/download"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// newFind makes the command that searches for releases.
func newFind() *cobra.Command {
	return remote.Ask[shape.Releases]{
		Use: "find WORDS…", Short: "Search the indexers for releases of a book",
		Long: `Search the indexers, such as Prowlarr or Jackett, for releases of a book. "starter download BOOK --find WORDS --pick NO"
downloads one of them.`,
		Example: "  starter book find wheels cartwright\n  starter book find --type audio --json wheels",
		Call:    "GET /v1/releases",
		Query:   func(args []string) url.Values { return url.Values{"q": {strings.Join(args, " ")}} },
		Filters: []remote.Filter{
			{Flag: "type", Parameter: "media_type", Value: download.MediaText, About: "medium of the book: text or audio"},
			{Flag: "book", Parameter: "book_id", About: "id of the book: marks releases that already failed for you and this book"},
		},
		Show: showReleases,
	}.Command()
}

func showReleases(cmd *cobra.Command, found shape.Releases) error {
	rows := [][]string{{"NO", "SEEDERS", "SIZE", "PUBLISHED", "INDEXER", "TITLE"}}
	for i, r := range found.Items {
		seeders, size, title := "?", "?", terminal.Shorten(r.Title, 80)
		if r.Seeders != nil {
			seeders = strconv.Itoa(*r.Seeders)
		}
		if r.Size > 0 {
			size = terminal.BytesText(r.Size)
		}
		if r.FailedBefore {
			title += " (failed before)"
		}
		rows = append(rows, []string{
			strconv.Itoa(i + 1), seeders, size, terminal.WhenSet(r.PublishedAt), terminal.Shorten(r.Indexer, 24), title,
		})
	}

	if err := terminal.Table(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	for _, f := range found.Failed {
		fmt.Fprintf(cmd.OutOrStdout(), "%s gave no results: %s\n", terminal.Printable(f.Indexer), terminal.Printable(f.Code))
	}
	return nil
}

// sourcesText lists a download's sources if there are several, with why they were abandoned.
func sourcesText(d shape.Download) string {
	var lines []string
	for _, s := range d.Sources {
		outcome := shape.Value(s.Outcome)
		if s.Place == d.SourcePlace {
			outcome = string(d.Status)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d %s %s", s.Place, terminal.Shorten(s.Title, 60), outcome)))
	}
	return strings.Join(lines, "; ")
}

// sourcesOf returns the sources of a download: links, or the picked release of a search, and those after it.
func sourcesOf(ctx context.Context, c *client.Client, args []string, o options) ([]shape.Source, error) {
	switch {
	case (len(args) > 1) == (o.find != ""):
		return nil, terminal.UsageError("give a LINK, or search with --find")
	case len(args) > 1:
		return shape.List(args[1:], func(link string) shape.Source { return shape.Source{SourceURL: link} }), nil
	}

	found, err := client.Ask[shape.Releases](ctx, c, client.Call{
		Method: http.MethodGet, Path: "/v1/releases", Query: url.Values{"q": {o.find}, "media_type": {o.mediaType}, "book_id": {args[0]}},
	})
	if err != nil {
		return nil, err
	}
	if o.pick < 1 || o.pick > len(found.Items) {
		return nil, fmt.Errorf("%d releases were found, but --pick is %d: list them with starter book find", len(found.Items), o.pick)
	}

	picked := found.Items[o.pick-1:]
	return shape.List(picked[:min(len(picked), download.MaxSources)], shape.Release.Source), nil
}
