package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

const booksCursor = "books"

type createBookInput struct {
	Keyed
	Body struct {
		Title  string `json:"title" minLength:"1" maxLength:"500" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"A Treatise on Wheels"`
		Author string `json:"author,omitempty" maxLength:"500" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"A. Cartwright"`
	} `nameHint:"BookRequest"`
}

type listBooksInput struct {
	Paging
	Q     string `query:"q" maxLength:"500" example:"wheels" doc:"Only those with this text in the title or the author's name"`
	State string `query:"state" enum:"Library,Archive" doc:"Only those in this state"`
}

type bookInput struct {
	ID string `path:"id" example:"4" doc:"The id of a book"`
}

type markMediumInput struct {
	ID        string `path:"id" example:"4" doc:"The id of a book"`
	MediaType string `path:"media_type" enum:"text,audio" example:"text" doc:"Which of its media"`
	Body      struct {
		Status string `json:"status" enum:"deleted,missing" doc:"deleted: for good; missing: available again when the file is back, if the service looks for files"`
	} `nameHint:"MediumMark"`
}

var (
	createBook = operation{
		id: "create-book", method: http.MethodPost, path: "/v1/books", tag: "Books", access: forUsers,
		scope:   store.ScopeDownloads,
		summary: "Add a book to the library", status: http.StatusCreated, faults: []fault.Code{fault.QuotaExceeded},
		description: "It stands in the Archive until a download has brought one of its media.",
	}
	listBooks = operation{
		id: "list-books", method: http.MethodGet, path: "/v1/books", tag: "Books", access: forUsers, scope: store.ScopeRead,
		summary: "List the books, the newest first, or search them", description: "The library is everybody's.",
	}
	getBook = operation{
		id: "get-book", method: http.MethodGet, path: "/v1/books/{id}", tag: "Books", access: forUsers,
		scope: store.ScopeRead, subject: "book",
		summary: "Look at a book", faults: []fault.Code{fault.BookNotFound},
	}
	markMedium = operation{
		id: "mark-medium", method: http.MethodPost, path: "/v1/books/{id}/media/{media_type}/mark", tag: "Books",
		access: forAdmins, scope: store.ScopeOperate, subject: "book",
		summary:     "Mark a medium of a book as deleted or missing",
		description: "No file is touched. Without an available medium the book goes back to the Archive, and a new download of the medium may start.",
		faults:      []fault.Code{fault.BookNotFound, fault.NotFound},
	}
)

func (s *server) registerBooks() {
	register(s, createBook, s.createBook)
	register(s, listBooks, s.listBooks)
	register(s, getBook, s.getBook)
	register(s, markMedium, s.markMedium)
}

func (s *server) createBook(ctx context.Context, in *createBookInput) (*answer[shape.Book], error) {
	book, err := s.o.Downloads.CreateBook(ctx, caller(ctx), in.Body.Title, in.Body.Author, in.Key)
	if err != nil {
		return nil, err
	}
	return answered(bookFor(caller(ctx))(book)), nil
}

func (s *server) listBooks(ctx context.Context, in *listBooksInput) (*answer[shape.Page[shape.Book]], error) {
	filter := store.BookFilter{Words: in.Q, State: in.State}
	return listOf(in.Paging, booksCursor, func(before int64, limit int) ([]store.Book, error) {
		filter.Before, filter.Limit = before, limit
		return s.o.Downloads.Books(ctx, filter)
	}, func(b store.Book) int64 { return b.ID }, bookFor(caller(ctx)))
}

func (s *server) getBook(ctx context.Context, in *bookInput) (*answer[shape.Book], error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, fault.New(fault.BookNotFound, "there is no such book")
	}
	book, err := s.o.Downloads.Book(ctx, id)
	if err != nil {
		return nil, err
	}
	return answered(bookFor(caller(ctx))(book)), nil
}

func (s *server) markMedium(ctx context.Context, in *markMediumInput) (*answer[shape.Book], error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, fault.New(fault.BookNotFound, "there is no such book")
	}
	book, err := s.o.Downloads.MarkMedium(ctx, caller(ctx), id, in.MediaType, in.Body.Status)
	if err != nil {
		return nil, err
	}
	s.audit(ctx, caller(ctx), markMedium, in.ID, store.OutcomeDone)
	return answered(bookFor(caller(ctx))(book)), nil
}

// bookFor shows a book to a viewer.
func bookFor(viewer store.User) func(store.Book) shape.Book {
	return func(b store.Book) shape.Book {
		body := shape.Book{
			ID: formatID(b.ID), Title: b.Title, Author: b.Author, State: b.State, Media: make([]shape.Media, len(b.Media)),
			CreatorID: formatID(b.CreatorID), CreatedAt: utc(b.CreatedAt), UpdatedAt: utc(b.UpdatedAt),
		}
		for i, m := range b.Media {
			body.Media[i] = shape.Media{MediaType: m.MediaType, Status: m.Status, Path: m.Path, SourceURL: m.LinkFor(viewer)}
		}
		return body
	}
}
