package downloads

import (
	"context"
	"net/url"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/internal/store/download"
)

type booksView struct {
	shape.Page[shape.Book]
	States        []string
	State, Search string
}

// showBooks shows the library, or what a search has found.
func showBooks(_ context.Context, r *site.Request) (site.View, error) {
	list, err := site.Get[shape.Page[shape.Book]](r, "/v1/books", r.Query("q", "state", "cursor"))
	query := r.URL.Query()
	return site.View{Title: texts["library"].In(r.Language), Data: booksView{
		Page: list, States: []string{download.BookLibrary, download.BookArchive},
		State: query.Get("state"), Search: strings.TrimSpace(query.Get("q")),
	}}, err
}

// showNewBook shows the form for a book. A search without results hands over its words as the title.
func showNewBook(_ context.Context, r *site.Request) (site.View, error) {
	return site.View{Title: texts["add-book"].In(r.Language), Data: r.FormValue("title")}, nil
}

// addBook adds a book to the library, and shows it.
func addBook(_ context.Context, r *site.Request) (next string, err error) {
	made, err := site.Post[shape.Book](r, "/v1/books", map[string]string{
		"title": strings.TrimSpace(r.PostFormValue("title")), "author": strings.TrimSpace(r.PostFormValue("author")),
	})
	return "/books/" + made.ID, err
}

type bookView struct {
	shape.Book
	MediaTypes []string
	Downloads  []shown
}

// showBook shows a book with its media, and the downloads for it that the person may see.
func showBook(_ context.Context, r *site.Request) (site.View, error) {
	book, err := site.Get[shape.Book](r, "/v1/books/"+url.PathEscape(r.PathValue("id")), nil)
	if err != nil {
		return site.View{}, err
	}

	list, err := site.Get[shape.Page[shape.Download]](
		r, "/v1/downloads", url.Values{"book_id": {book.ID}, "limit": {"20"}},
	)
	return site.View{Title: book.Title, Data: bookView{
		Book: book, MediaTypes: download.MediaTypes, Downloads: showAll(r, list.Items),
	}}, err
}
