package downloads

import (
	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/internal/store/download"
)

// showNewBook shows the form for a book. A search without results passes its words on as the title.
func showNewBook(r *site.Request) (site.View, error) {
	return site.View{Data: r.FormValue("title")}, nil
}

type bookView struct {
	shape.Book
	MediaTypes []string
	Words      string // search words for releases
	Downloads  []shown
}

// showBook shows a book with its media, and its downloads that the person may see.
func showBook(r *site.Request) (site.View, error) {
	var list shape.Page[shape.Download]
	view := bookView{MediaTypes: download.MediaTypes}
	err := r.ReadAll(
		site.Into(&view.Book, "/v1/books/{id}"), site.Into(&list, "/v1/downloads?book_id={id}&limit=20"),
	)
	view.Words = searchWords(view.Book)
	view.Downloads = showAll(r, list.Items)
	return site.View{Title: view.Book.Title, Data: view}, err
}
