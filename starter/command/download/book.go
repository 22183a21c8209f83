package download

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewBook makes the group of commands about books.
func NewBook() *cobra.Command {
	return terminal.Group(&cobra.Command{
		Use: "book", Short: "Manage the books of the library",
		Example: "  starter book add \"A Treatise on Wheels\" --author \"A. Cartwright\"\n  starter book list --search wheels",
	},
		remote.Ask[shape.Book]{
			Use: "add TITLE", Short: "Add a book", Keyed: true,
			Call: "POST /v1/books", Text: "title", Fields: []remote.Field{{Flag: "author", About: "name of the author"}},
			Show: showBook,
		}.Command(),
		remote.Ask[shape.Book]{
			Use: "show ID", Short: "Show one book and the paths of its media",
			Call: "GET /v1/books/{}", Show: showBook,
		}.Command(),
		remote.List[shape.Book]{
			Use: "list", Short: "List the books, newest first",
			Path: "/v1/books",
			Filters: []remote.Filter{
				{Flag: "search", Parameter: "q", About: "filter by text in the title or the author's name"},
				{
					Flag: "in-state", Parameter: "state", Values: []string{"Library", "Archive"},
					About: "filter by state: Library (a medium is available) or Archive",
				},
			},
			Show: showBooks,
		}.Command(),
		newFind(),
		remote.Ask[shape.Book]{
			Use: "change BOOK", Short: "Correct one of your books that has no media yet (administrators: any book)",
			Call: "PATCH /v1/books/{}", Changes: true,
			Fields: []remote.Field{{Flag: "title", About: "the title"}, {Flag: "author", About: "the author's name"}},
			Show:   showBook,
		}.Command(),
		remote.Do{
			Use: "delete BOOK", Short: "Delete one of your books that has no media yet (administrators: any book); files stay",
			Call: "DELETE /v1/books/{}",
			Done: func(args []string) string { return "book " + args[0] + " is deleted" },
		}.Command(),
		remote.Ask[shape.Sending]{
			Use: "send BOOK text|audio", Short: "Send a medium of a book to your Telegram chat", Keyed: true,
			Call: "POST /v1/books/{}/media/{}/send", Show: showSending,
		}.Command(),
		remote.Ask[shape.Book]{
			Admin: true, Use: "medium BOOK text|audio deleted|missing",
			Short: "Mark a medium of a book as deleted or missing; files are not touched (administrators only)",
			Call:  "POST /v1/books/{}/media/{}/mark",
			Body:  func(args []string) (any, error) { return map[string]string{"status": args[2]}, nil },
			Show:  showBook,
		}.Command(),
	)
}

func showBook(cmd *cobra.Command, b shape.Book) error {
	rows := [][]string{
		{"book", b.ID},
		{"title", b.Title},
		{"author", b.Author},
		{"state", b.State},
		{"added", terminal.When(b.CreatedAt)},
	}

	for _, m := range b.Media {
		rows = append(rows, []string{m.MediaType, fmt.Sprintf("%s at %s", m.Status, m.Path)})
		if m.SourceURL != nil { // for its owner and administrators
			rows = append(rows, []string{"", "from " + *m.SourceURL})
		}
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

var showBooks = remote.Rows(func(b shape.Book) []string {
	var media []string
	for _, m := range b.Media {
		media = append(media, m.MediaType+" "+m.Status)
	}
	return []string{b.ID, b.State, strings.Join(media, ", "), b.Author, b.Title}
}, "ID", "STATE", "MEDIA", "AUTHOR", "TITLE")

func showSending(cmd *cobra.Command, s shape.Sending) error {
	return terminal.Table(cmd.OutOrStdout(), terminal.Rows(s.Deliveries, func(f shape.SentFile) []string {
		return []string{f.DeliveryID, terminal.BytesText(f.Size), f.FileName}
	}, "DELIVERY", "SIZE", "FILE"))
}
