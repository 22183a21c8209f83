package service

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

// Limits of a book, in characters.
const (
	MaxBookTitle  = 500
	MaxBookAuthor = 500
)

// CreateBook adds a book to the library. key may be empty; the same key returns the book that the first request has
// created.
func (c *Downloads) CreateBook(
	ctx context.Context, user account.User, title, author, key string,
) (download.Book, error) {
	title, author = strings.TrimSpace(title), strings.TrimSpace(author)
	switch {
	case strings.ContainsFunc(title+author, unicode.IsControl):
		return download.Book{}, fault.Invalid("title", "a book's title and author are one line each")
	case title == "" || utf8.RuneCountInString(title) > MaxBookTitle:
		return download.Book{}, fault.Invalid("title", "a title has 1 to %d characters", MaxBookTitle)
	case utf8.RuneCountInString(author) > MaxBookAuthor:
		return download.Book{}, fault.Invalid("author", "an author's name has at most %d characters", MaxBookAuthor)
	}

	return c.Store.Downloads.CreateBook(ctx, title, author, core.Request{
		UserID: user.ID, Key: key, Asked: fmt.Sprintf("book %q %q", title, author),
	})
}

// Book returns a book; all users share the library.
func (c *Downloads) Book(ctx context.Context, id int64) (download.Book, error) {
	return c.Store.Downloads.BookByID(ctx, id)
}

// Books returns books, the newest first.
func (c *Downloads) Books(ctx context.Context, f download.BookFilter) ([]download.Book, error) {
	if !utf8.ValidString(f.Words) || strings.ContainsFunc(f.Words, unicode.IsControl) {
		return nil, fault.Invalid("q", "what is searched for is text of one line")
	}
	return c.Store.Downloads.Books(ctx, f)
}

// MarkMedium records that a person has found a medium missing, or has deleted it, and returns the book as it is then.
// Only administrators may do this.
func (c *Downloads) MarkMedium(
	ctx context.Context, user account.User, book int64, mediaType, status string,
) (download.Book, error) {
	switch {
	case !user.IsAdmin():
		return download.Book{}, fault.New(fault.InsufficientAccess, "only administrators may do this")
	case status != download.MediaDeleted && status != download.MediaMissing:
		return download.Book{}, fault.Invalid("status", "a person marks a medium as deleted or as missing")
	}

	if _, err := c.Store.Downloads.ChangeMedium(ctx, download.MediumChange{BookID: book, MediaType: mediaType, To: status, ActorID: &user.ID}); err != nil {
		return download.Book{}, err
	}
	return c.Store.Downloads.BookByID(ctx, book)
}
