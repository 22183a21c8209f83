// Package opds serves the library to reading apps: OPDS 1.2, which is Atom, at /opds. An app sends a token with the
// scope read as the password of basic authentication; the user name is ignored.
package opds

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"stagecoach/api/rest/server"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/shelf"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// Limits of a page: what an app receives does not grow with what users add.
const (
	booksPerPage  = 50
	filesPerPage  = 100
	linksPerEntry = 20        // a book with more files has its own feed
	bytesPerPage  = 256 << 10 // the entry that reaches it is the last one

	mostWords  = 500              // characters of a search
	answerTime = 20 * time.Second // for the record's answer
	pageTime   = 10 * time.Second // for a page: an app that reads slowly gives up its slot
	writeTime  = 30 * time.Second // for each part of a file; a client that stops reading is cut off
)

// Concurrency of this process: for one person with their agents, for all users, and for administrators.
const (
	pagesOfOne, pagesOfUsers, pagesOfAdmins = 4, 16, 4 // each holds some megabytes of rows, and a connection to the record
	filesOfOne, filesOfUsers, filesOfAdmins = 8, 800, 100
)

// handlers serve reading apps.
type handlers struct {
	*server.Server
	downloads *downloads.Service
	library   shelf.Folder

	pages, files *allowance.Room
}

// Register adds the catalogue to an API, if there is a library folder.
func Register(s *server.Server, downloads *downloads.Service, library shelf.Folder) {
	if library.Dir == "" {
		return
	}

	h := &handlers{
		Server: s, downloads: downloads, library: library,
		pages: allowance.NewRoom(allowance.LimitCatalogue, pagesOfOne, pagesOfUsers, pagesOfAdmins),
		files: allowance.NewRoom(allowance.LimitOpenFiles, filesOfOne, filesOfUsers, filesOfAdmins),
	}
	s.Mux.Handle("GET /opds", h.admitted(h.placed(h.pages, h.books)))
	s.Mux.Handle("GET /opds/{$}", h.admitted(h.placed(h.pages, h.books))) // as many people type it
	s.Mux.Handle("GET /opds/search", h.admitted(h.placed(h.pages, h.books)))
	s.Mux.Handle("GET /opds/search.xml", h.admitted(h.searchDescription))
	s.Mux.Handle("GET /opds/books/{id}", h.admitted(h.placed(h.pages, h.book)))
	s.Mux.Handle("GET /opds/books/{id}/{medium}/{place}/{name}", h.admitted(h.placed(h.files, h.file)))
}

// placed serves a request while it holds a slot.
func (h *handlers) placed(
	places *allowance.Room, serve func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		place := places.Hold(server.Caller(r.Context()))
		defer place.Release()
		if err := place.Take(r.Context(), 1); err != nil {
			return err
		}
		return serve(w, r)
	}
}

// admitted serves a request of a user whose token may read the library. Its rate is limited like any request's.
func (h *handlers) admitted(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	op := server.Operation{Id: "opds", Access: server.ForUsers, Scope: account.ScopeLibrary}
	return func(w http.ResponseWriter, r *http.Request) {
		authorization := r.Header.Get("Authorization")
		if _, token, basic := r.BasicAuth(); basic {
			authorization = "Bearer " + token
		}
		_, err := h.Admission(r.Context(), authorization, op, "")
		if err == nil {
			err = serve(w, r)
		}
		if err != nil {
			h.Refuse(r.Context(), w, err, `Basic realm="Stagecoach", charset="UTF-8"`)
		}
	}
}

// searchDescription describes how apps search.
func (h *handlers) searchDescription(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", openSearch+charset)
	_, _ = io.WriteString(w, xml.Header+searchDescription) // an error means that the client has disconnected
	return nil
}

// books shows a page of the library's books, or of search results.
func (h *handlers) books(w http.ResponseWriter, r *http.Request) error {
	words := strings.TrimSpace(r.FormValue("q"))
	before, err := strconv.ParseInt(cmp.Or(r.FormValue("before"), "0"), 10, 64)
	switch {
	case err != nil || before < 0:
		return fault.Invalid("before", "this is not the id of a book")
	case utf8.RuneCountInString(words) > mostWords:
		return fault.Invalid("q", "a search has at most %d characters", mostWords)
	}

	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	filter := download.BookFilter{Words: words, Shelved: true, Before: before, Limit: booksPerPage + 1}
	books, err := h.downloads.Books(ctx, filter)
	if err != nil {
		return err
	}

	more := len(books) > booksPerPage
	books = books[:min(len(books), booksPerPage)]
	files, err := h.filesOf(ctx, books)
	if err != nil {
		return err
	}

	title, updated := "All books", time.Now()
	if words != "" {
		title = "Search: " + words
	}
	if len(books) > 0 {
		updated = books[0].UpdatedAt
	}
	return write(w, newFeed("urn:stagecoach:opds", title, r.URL.RequestURI(), updated, entries{
		n: len(books), more: more,
		at:   func(i int) entry { return entryOf(books[i], files[books[i].ID]) },
		next: func(last int) string { return pageAfter(r.URL, "before", strconv.FormatInt(books[last].ID, 10)) },
	}))
}

// filesOf reads the files for the entries of books.
func (h *handlers) filesOf(ctx context.Context, books []download.Book) (map[int64][]download.MediumFile, error) {
	var shown []int64
	for _, book := range books {
		if !isLarge(book) {
			shown = append(shown, book.ID)
		}
	}
	files, err := h.downloads.Files(ctx, linksPerEntry, shown...)

	byBook := map[int64][]download.MediumFile{}
	for _, file := range files {
		byBook[file.BookID] = append(byBook[file.BookID], file)
	}
	return byBook, err
}

// book shows a page of one book's files.
func (h *handlers) book(w http.ResponseWriter, r *http.Request) error {
	after, err := parsePlace(r.FormValue("after"))
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	book, err := h.downloads.Book(ctx, server.PathID(r.PathValue("id")))
	if err != nil {
		return err
	}
	after.BookID = book.ID
	files, err := h.downloads.FilesAfter(ctx, after, filesPerPage+1)
	if err != nil {
		return err
	}

	return write(w, newFeed(bookID(book.ID)+":files", book.Title, r.URL.RequestURI(), book.UpdatedAt, entries{
		n: min(len(files), filesPerPage), more: len(files) > filesPerPage,
		at: func(i int) entry { return entryOfFile(book, files[i]) },
		next: func(last int) string {
			return pageAfter(r.URL, "after", fmt.Sprintf("%s.%d", files[last].MediaType, files[last].Place))
		},
	}))
}

// parsePlace parses the medium and position of a file, such as audio.12; empty: before all files.
func parsePlace(text string) (file download.MediumFile, err error) {
	if text == "" {
		return file, nil
	}
	medium, number, _ := strings.Cut(text, ".")
	place, err := strconv.ParseInt(number, 10, 16)
	if err != nil || !slices.Contains(download.MediaTypes, medium) {
		return file, fault.Invalid("after", "this is not the position of a file")
	}
	return download.MediumFile{MediaType: medium, LibraryFile: download.LibraryFile{Place: int(place)}}, nil
}

// file serves a file, or a part of it.
func (h *handlers) file(w http.ResponseWriter, r *http.Request) error {
	at, err := parsePlace(r.PathValue("medium") + "." + r.PathValue("place"))
	if err != nil {
		return noFile
	}
	of, err := h.downloads.File(r.Context(), server.PathID(r.PathValue("id")), at.MediaType, at.Place)
	if err != nil {
		return err
	}

	file, err := h.library.Open(of.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	if file.Info.IsDir() {
		return noFile
	}

	name := path.Base(of.Path)
	kind, err := contentType(name, file)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox") // HTML in the library is not a page of ours
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	w.Header().Set("ETag", `"`+shelf.Version(of.Path, file.Info)+`"`)
	server.ServeContent(&patient{w, http.NewResponseController(w)}, r, file.Info.ModTime(), file)
	return nil
}

var noFile = fault.New(fault.FileNotFound, "there is no such file")

// patient lets a response take as long as its reader keeps reading.
type patient struct {
	http.ResponseWriter
	connection *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.connection.SetWriteDeadline(time.Now().Add(writeTime)) // fails where there is no connection
	return p.ResponseWriter.Write(b)
}

const charset = ";charset=utf-8"

// write writes a page while it is created.
func write(w http.ResponseWriter, page feed) error {
	out := &bounded{ResponseWriter: w, connection: http.NewResponseController(w), until: time.Now().Add(pageTime)}
	page.Entries.full = func() bool { return out.written >= bytesPerPage }

	w.Header().Set("Content-Type", atom+charset)
	if _, err := io.WriteString(out, xml.Header); err == nil {
		_ = xml.NewEncoder(out).Encode(page) // an error means that the client has disconnected
	}
	return nil
}

// bounded counts the bytes of a page, and cuts off a client that does not read it in time.
type bounded struct {
	http.ResponseWriter
	connection *http.ResponseController
	until      time.Time
	written    int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.written += len(p)
	_ = b.connection.SetWriteDeadline(b.until) // fails where there is no connection
	return b.ResponseWriter.Write(p)
}
