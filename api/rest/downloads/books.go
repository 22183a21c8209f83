package downloads

import (
	"context"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

const booksCursor = "books"

type createBookInput struct {
	server.Keyed
	Body struct {
		Title  string `json:"title" minLength:"1" maxLength:"500" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"A Treatise on Wheels"`
		Author string `json:"author,omitempty" maxLength:"500" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"A. Cartwright"`
	} `nameHint:"BookRequest"`
}

type listBooksInput struct {
	server.Paging
	Q     string `query:"q" maxLength:"500" example:"wheels" doc:"Only books whose title and author's name together contain these words or parts of words, in any order"`
	State string `query:"state" enum:"Library,Archive" doc:"Only books in this state"`
}

type bookInput struct {
	ID string `path:"id" example:"4" doc:"Book ID"`
}

type changeBookInput struct {
	ID   string `path:"id" example:"4" doc:"Book ID"`
	Body struct {
		Title  *string `json:"title,omitempty" minLength:"1" maxLength:"500" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"A Treatise on Wheels"`
		Author *string `json:"author,omitempty" maxLength:"500" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"A. Cartwright"`
	} `nameHint:"BookChange"`
}

type markMediumInput struct {
	ID        string `path:"id" example:"4" doc:"Book ID"`
	MediaType string `path:"media_type" enum:"text,audio" example:"text" doc:"Which medium of the book"`
	Body      struct {
		Status string `json:"status" enum:"deleted,missing" doc:"deleted: permanently; missing: until the file is back, if the service checks for files"`
	} `nameHint:"MediumMark"`
}

// registerBooks adds the operations on books.
func (h *handlers) registerBooks() {
	books := server.Group{
		Server: h.Server, Tag: "Books", Access: server.ForUsers, Scope: account.ScopeLibrary, Subject: "book",
	}

	server.Register(books, server.Operation{
		Id: "create-book", Route: "POST /v1/books", Scope: lifecycle.DownloadScope, Status: http.StatusCreated,
		Summary:     "Add a book to the library",
		Description: "It stays in the Archive until a download adds one of its media.",
		Faults:      []fault.Code{fault.QuotaExceeded},
	}, h.createBook)

	server.Register(books, server.Operation{
		Id: "list-books", Route: "GET /v1/books",
		Summary:     "List books, newest first, or search them",
		Description: "Everyone shares the library.",
	}, h.listBooks)

	server.Register(books, server.Operation{
		Id: "get-book", Route: "GET /v1/books/{id}",
		Summary: "Get a book", Faults: []fault.Code{fault.BookNotFound},
	}, h.getBook)

	server.Register(books, server.Operation{
		Id: "change-book", Route: "PATCH /v1/books/{id}", Scope: lifecycle.DownloadScope,
		Summary:     "Correct the title or author of a book",
		Description: "Allowed to its creator while it has no media, and to administrators always.",
		Faults:      []fault.Code{fault.BookNotFound, fault.InsufficientAccess},
	}, h.changeBook)

	server.RegisterSilent(books, server.Operation{
		Id: "delete-book", Route: "DELETE /v1/books/{id}", Scope: lifecycle.DownloadScope,
		Summary:     "Delete a book",
		Description: "Allowed to those who may correct it, except its creator while someone else is downloading it. Deletes no files. An active download for it fails.",
		Faults:      []fault.Code{fault.BookNotFound, fault.InsufficientAccess},
	}, h.deleteBook)

	server.Register(books, server.Operation{
		Id: "mark-medium", Route: "POST /v1/books/{id}/media/{media_type}/mark",
		Access: server.ForAdmins, Scope: account.ScopeOperate,
		Summary:     "Mark a medium of a book as deleted or missing",
		Description: "Deletes no files. Without an available medium the book returns to the Archive, and a new download of the medium may start.",
		Faults:      []fault.Code{fault.BookNotFound, fault.NotFound},
	}, h.markMedium)
}

func (h *handlers) createBook(ctx context.Context, in *createBookInput) (shape.Book, error) {
	book, err := h.downloads.CreateBook(ctx, server.Caller(ctx), in.Body.Title, in.Body.Author, in.Key)
	return server.Shown(book, err, bookFor(server.Caller(ctx)))
}

func (h *handlers) listBooks(ctx context.Context, in *listBooksInput) (shape.Page[shape.Book], error) {
	filter := download.BookFilter{Words: in.Q, State: in.State}
	return server.ListOf(in.Paging, booksCursor, func(before int64, limit int) ([]download.Book, error) {
		filter.Before, filter.Limit = before, limit
		return h.downloads.Books(ctx, filter)
	}, func(b download.Book) int64 { return b.ID }, bookFor(server.Caller(ctx)))
}

func (h *handlers) getBook(ctx context.Context, in *bookInput) (shape.Book, error) {
	book, err := h.downloads.Book(ctx, server.PathID(in.ID))
	return server.Shown(book, err, bookFor(server.Caller(ctx)))
}

func (h *handlers) changeBook(ctx context.Context, in *changeBookInput) (none shape.Book, err error) {
	user := server.Caller(ctx)
	book, err := h.downloads.ChangeBook(ctx, user, server.PathID(in.ID), in.Body.Title, in.Body.Author)
	if err != nil {
		return none, h.Refusal(ctx, in.ID, err)
	}
	if user.IsAdmin() {
		h.Done(ctx, in.ID)
	}
	return bookFor(user)(book), nil
}

func (h *handlers) deleteBook(ctx context.Context, in *bookInput) error {
	err := h.downloads.DeleteBook(ctx, server.Caller(ctx), server.PathID(in.ID))
	if err == nil {
		h.Done(ctx, in.ID)
	}
	return h.Refusal(ctx, in.ID, err)
}

func (h *handlers) markMedium(ctx context.Context, in *markMediumInput) (none shape.Book, err error) {
	book, err := h.downloads.MarkMedium(ctx, server.Caller(ctx), server.PathID(in.ID), in.MediaType, in.Body.Status)
	if err != nil {
		return none, err
	}
	h.Done(ctx, in.ID)
	return bookFor(server.Caller(ctx))(book), nil
}

// bookFor shows a book to a viewer.
func bookFor(viewer account.User) func(download.Book) shape.Book {
	return func(b download.Book) shape.Book {
		body := shape.Book{
			ID: shape.ID(b.ID), Title: b.Title, Author: b.Author, State: b.State, Media: make([]shape.Media, len(b.Media)),
			CreatorID: shape.OptionalID(b.CreatorFor(viewer)), MayChange: b.MayChange(viewer), CreatedAt: b.CreatedAt.UTC(), UpdatedAt: b.UpdatedAt.UTC(),
		}
		for i, m := range b.Media {
			body.Media[i] = shape.Media{MediaType: m.MediaType, Status: m.Status, Path: m.Path, Files: m.Files, SourceURL: m.LinkFor(viewer)}
		}
		return body
	}
}
