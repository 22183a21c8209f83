package download

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func BookPath(id string) string { return "/v1/books/" + url.PathEscape(id) }

// NewBook makes the group of commands about books.
func NewBook() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{
		Use: "book", Short: "Manage the books of the library",
		Example: "  starter book add \"A Treatise on Wheels\" --author \"A. Cartwright\"\n  starter book list --search wheels",
	},
		newBookAdd(&t), newBookShow(&t), newBookList(&t), newBookMedium(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func newBookAdd(t *remote.Target) *cobra.Command {
	var author string
	cmd := remote.Ask[shape.Book]{
		As: t.AsUser, Use: "add TITLE", Short: "Add a book", Args: terminal.Exactly(1), Keyed: true,
		Call: func(args []string) (client.Call, error) {
			body := map[string]string{"title": args[0]}
			if author != "" {
				body["author"] = author
			}
			return client.Call{Method: http.MethodPost, Path: "/v1/books", Body: body}, nil
		},
		Show: showBook,
	}.Command()

	cmd.Flags().StringVar(&author, "author", "", "name of the author")
	return cmd
}

func newBookShow(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Book]{
		As: t.AsUser, Use: "show ID", Short: "Show one book and the paths of its media", Args: terminal.Exactly(1),
		Call: remote.Get(BookPath),
		Show: showBook,
	}.Command()
}

func newBookList(t *remote.Target) *cobra.Command {
	var search, state string
	cmd := remote.List[shape.Book]{
		As: t.AsUser, Use: "list", Short: "List the books, the newest first", Args: terminal.Exactly(0),
		Query: func([]string) (string, map[string]string) {
			return "/v1/books", map[string]string{"q": search, "state": state}
		},
		Show: showBooks,
	}.Command()
	cmd.Flags().StringVar(&search, "search", "", "only those with this text in the title or the author's name")
	cmd.Flags().StringVar(&state, "in-state", "", "only those in this state: Library (a medium is available) or Archive")
	return cmd
}

func newBookMedium(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Book]{
		As: t.AsAdmin, Use: "medium BOOK text|audio deleted|missing", Args: terminal.Exactly(3),
		Short: "Mark a medium of a book as deleted or missing; files stay as they are (administrators only)",
		Call: func(args []string) (client.Call, error) {
			path := BookPath(args[0]) + "/media/" + url.PathEscape(args[1]) + "/mark"
			return client.Call{Method: http.MethodPost, Path: path, Body: map[string]string{"status": args[2]}}, nil
		},
		Show: showBook,
	}.Command()
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

func showBooks(cmd *cobra.Command, books []shape.Book) error {
	rows := [][]string{{"ID", "STATE", "MEDIA", "AUTHOR", "TITLE"}}
	for _, b := range books {
		var media []string
		for _, m := range b.Media {
			media = append(media, m.MediaType+" "+m.Status)
		}
		rows = append(rows, []string{b.ID, b.State, strings.Join(media, ", "), b.Author, b.Title})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}
