// Package opds serves the library to reading apps: OPDS 1.2, which is Atom, at /opds. An app sends a token with the scope
// read as the password of basic authentication; the user's name does not matter.
package opds

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
	"stagecoach/internal/service"
	"stagecoach/internal/shelf"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

const (
	booksPerPage = 50
	mostWords    = 500              // characters of a search
	answerTime   = 20 * time.Second // for what the record gives
	writeTime    = 30 * time.Second // for each part of a file, after which a client that does not read is cut off
	filesAtOnce  = 8                // that one user's apps read
)

// handlers answer reading apps.
type handlers struct {
	*server.Server
	downloads *service.Downloads
	library   shelf.Folder

	mu   sync.Mutex
	open map[int64]int // files that each user reads
}

// Register adds the catalogue to an API. Without a library folder there is none.
func Register(s *server.Server, downloads *service.Downloads, library shelf.Folder) {
	if library.Dir == "" {
		return
	}

	h := &handlers{Server: s, downloads: downloads, library: library, open: map[int64]int{}}
	s.Mux.Handle("GET /opds", h.admitted(h.books))
	s.Mux.Handle("GET /opds/search", h.admitted(h.books))
	s.Mux.Handle("GET /opds/search.xml", h.admitted(h.searchDescription))
	s.Mux.Handle("GET /opds/books/{id}/{medium}/{place}/{name}", h.admitted(h.file))
}

// admitted serves a request of a user whose token may read. Its rate is bounded as that of any request.
func (h *handlers) admitted(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	op := server.Operation{Id: "opds", Access: server.ForUsers, Scope: account.ScopeRead}
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

// searchDescription says how apps search.
func (h *handlers) searchDescription(w http.ResponseWriter, _ *http.Request) error {
	return write(w, openSearch, fmt.Appendf(nil, searchDescription, h.PublicURL))
}

// books shows a page of the books that the library has, or of those that words find.
func (h *handlers) books(w http.ResponseWriter, r *http.Request) error {
	words := strings.TrimSpace(r.FormValue("q"))
	before, err := strconv.ParseInt(cmp.Or(r.FormValue("before"), "0"), 10, 64)
	switch {
	case err != nil || before < 0:
		return fault.Invalid("before", "this is not the id of a book")
	case utf8.RuneCountInString(words) > mostWords:
		return fault.Invalid("q", "what is searched for has at most %d characters", mostWords)
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

	entries := make([]entry, len(books))
	for i, book := range books {
		entries[i] = entryOf(book, files[book.ID])
	}

	title := "All books"
	if words != "" {
		title = "Search: " + words
	}
	page := newFeed(title, r.URL.RequestURI(), entries)
	if more {
		next := pageAfter(r.URL, books[len(books)-1].ID)
		page.Links = append(page.Links, link{Rel: "next", Href: next, Type: atom})
	}

	document, err := xml.Marshal(page)
	if err != nil {
		return err
	}
	return write(w, atom, document)
}

func (h *handlers) filesOf(ctx context.Context, books []download.Book) (map[int64][]download.LibraryFile, error) {
	ids := make([]int64, len(books))
	for i, book := range books {
		ids[i] = book.ID
	}
	files, err := h.downloads.Files(ctx, ids...)

	byBook := map[int64][]download.LibraryFile{}
	for _, file := range files {
		byBook[file.BookID] = append(byBook[file.BookID], file)
	}
	return byBook, err
}

// file gives a file, or a part of it.
func (h *handlers) file(w http.ResponseWriter, r *http.Request) error {
	reader := server.Caller(r.Context())
	defer h.reads(reader.ID, -1)
	if h.reads(reader.ID, 1) > filesAtOnce {
		return fault.New(fault.RateLimited, "you read %d files already", filesAtOnce).After(writeTime)
	}

	files, err := h.downloads.Files(r.Context(), server.PathID(r.PathValue("id")))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(files, func(f download.LibraryFile) bool {
		return f.MediaType == r.PathValue("medium") && strconv.Itoa(f.Place) == r.PathValue("place")
	})
	if at < 0 {
		return noFile
	}

	file, err := h.library.Open(files[at].Path)
	if err != nil {
		return err
	}
	defer file.Close()
	if file.Info.IsDir() {
		return noFile
	}

	name := path.Base(files[at].Path)
	w.Header().Set("Content-Type", typeOf(name))
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	w.Header().Set("ETag", `"`+shelf.Version(files[at].Path, file.Info)+`"`)
	http.ServeContent(&patient{w, http.NewResponseController(w)}, r, "", file.Info.ModTime(), file)
	return nil
}

var noFile = fault.New(fault.FileNotFound, "there is no such file")

// reads counts the files that a user reads: some more, or fewer.
func (h *handlers) reads(user int64, more int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[user] += more
	return h.open[user]
}

// patient lets an answer take as long as its reader goes on reading.
type patient struct {
	http.ResponseWriter
	connection *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.connection.SetWriteDeadline(time.Now().Add(writeTime)) // refused where there is no connection
	return p.ResponseWriter.Write(b)
}

// write answers with a document.
func write(w http.ResponseWriter, kind string, document []byte) error {
	w.Header().Set("Content-Type", kind+";charset=utf-8")
	_, _ = w.Write(append([]byte(xml.Header), document...)) // an error means that the client has left
	return nil
}
