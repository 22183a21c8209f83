package download

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// Book is a book of the library as the API shows it.
type Book struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Author    string    `json:"author"`
	State     string    `json:"state"`
	Media     []Medium  `json:"media"`
	CreatedAt time.Time `json:"created_at"`
}

// Medium is what a download has brought for a book.
type Medium struct {
	MediaType string `json:"media_type"`
	Status    string `json:"status"`
	Path      string `json:"path"`
	SourceURL string `json:"source_url"`
}

func BookPath(id string) string { return "/v1/books/" + url.PathEscape(id) }

func NewBook() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{
		Use: "book", Short: "Add books to the library, and look what is there",
		Example: "  starter book add \"A Treatise on Wheels\" --author \"A. Cartwright\"\n  starter book list --search wheels",
	},
		newBookAdd(&t),
		remote.Ask(&t, "show ID", "Show one book, and where its media lie", terminal.Between(1, 1), func(args []string) (client.Call, error) {
			return client.Call{Method: http.MethodGet, Path: BookPath(args[0])}, nil
		}, showBook),
		newBookList(&t),
		newBookMedium(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func newBookAdd(t *remote.Target) *cobra.Command {
	var author, key string
	cmd := remote.Ask(t, "add TITLE", "Add a book", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		body := map[string]string{"title": args[0]}
		if author != "" {
			body["author"] = author
		}
		return client.Call{Method: http.MethodPost, Path: "/v1/books", Body: body, IdempotencyKey: key}, nil
	}, showBook)

	cmd.Flags().StringVar(&author, "author", "", "who wrote it")
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

func newBookMedium(t *remote.Target) *cobra.Command {
	return remote.AskAs(t.AsAdmin, "medium BOOK text|audio deleted|missing", "Mark a medium of a book as deleted or missing (for administrators); no file is touched",
		terminal.Between(3, 3), func(args []string) (client.Call, error) {
			return client.Call{
				Method: http.MethodPost, Path: BookPath(args[0]) + "/media/" + url.PathEscape(args[1]) + "/mark",
				Body: map[string]string{"status": args[2]},
			}, nil
		}, showBook)
}

func newBookList(t *remote.Target) *cobra.Command {
	var search, state string
	cmd := remote.List(t, "list", "List the books, the newest first", terminal.Between(0, 0), func([]string) string { return "/v1/books" }, func() map[string]string {
		return map[string]string{"q": search, "state": state}
	}, showBooks)
	cmd.Flags().StringVar(&search, "search", "", "only those with this text in the title or the author's name")
	cmd.Flags().StringVar(&state, "in-state", "", "only those in this state: Library (something is available) or Archive")
	return cmd
}

func showBook(cmd *cobra.Command, b Book) error {
	rows := [][]string{
		{"book", b.ID}, {"title", b.Title}, {"author", b.Author}, {"state", b.State}, {"added", terminal.When(b.CreatedAt)},
	}
	for _, m := range b.Media {
		rows = append(rows, []string{m.MediaType, fmt.Sprintf("%s at %s", m.Status, m.Path)})
		if m.SourceURL != "" { // it is shown to its owner and administrators
			rows = append(rows, []string{"", "from " + m.SourceURL})
		}
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showBooks(cmd *cobra.Command, books []Book) error {
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
