package downloads

import (
	"cmp"
	"context"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/download"
	"stagecoach/internal/torrent"
)

const (
	booksPerPage = 8
	titleLength  = 100 // runes of a title in a message
)

// books is /books: the library, or the results of a search by words.
func (h *handlers) books(ctx context.Context, r *chat.Request, _ chat.Args) error {
	return h.proceed(ctx, r, draft{Key: newKey(r), Words: r.Args})
}

// book is /book <number or words>, and /book new <title> / <author>.
func (h *handlers) book(ctx context.Context, r *chat.Request, _ chat.Args) error {
	first, rest := chat.FirstWord(r.Args)
	if !strings.EqualFold(first, "new") {
		return h.books(ctx, r, nil)
	}

	// the draft's own download uses the plain key
	made, err := h.makeBook(ctx, r, rest, r.Key()+"/book")
	if err != nil {
		return err
	}
	return h.showBook(ctx, r, draft{Key: newKey(r), Book: made.ID}, r.Say(textBookMade))
}

// makeBook adds "<title> / <author>" to the library.
func (h *handlers) makeBook(ctx context.Context, r *chat.Request, said, key string) (download.Book, error) {
	title, author := " "+chat.OneLine(said), ""
	if cut := strings.LastIndex(title, " / "); cut >= 0 {
		title, author = title[:cut], title[cut+len(" / "):]
	}

	made, err := h.downloads.CreateBook(ctx, r.User, title, author, key)
	if fault.CodeOf(err) == fault.Validation {
		err = chat.Hint{Text: textBookUsage}
	}
	return made, err
}

// addBook is the button that adds a book that a search did not find.
func (h *handlers) addBook(ctx context.Context, r *chat.Request, _ chat.Args) error {
	d, asked := draftOf(r)
	name := cmp.Or(d.Proposed, d.Words)
	if !asked || name == "" {
		return chat.Hint{Text: textStaleBook}
	}

	made, err := h.makeBook(ctx, r, name, d.Key+"/book")
	if err != nil {
		return err
	}
	d.Book = made.ID
	return h.proceed(ctx, r, d)
}

// findBook finds the book that a person means, by number or by words. If several match, it asks which one.
func (h *handlers) findBook(ctx context.Context, r *chat.Request, d draft) error {
	if id, ok := chat.ReadNumber(d.Words); ok && len(d.Sources) == 0 { // a search is by title
		book, err := h.downloads.Book(ctx, id)
		if err == nil {
			d.Book = book.ID
			return h.proceed(ctx, r, d)
		}
		if fault.CodeOf(err) != fault.BookNotFound { // otherwise it may be a title
			return err
		}
	}

	return h.showBooks(ctx, r, d, 0)
}

// turnBooks is the button of a page; without a place it shows the whole library.
func (h *handlers) turnBooks(ctx context.Context, r *chat.Request, args chat.Args) error {
	d, _ := draftOf(r)
	d.Book = 0
	if len(args) == 0 {
		d.Words = ""
	}
	return h.showBooks(ctx, r, d, args.Offset(0))
}

// showBooks lists the books that a draft may be for. A single match is chosen. An unusable link leads to no question
// about the book. A number that is neither a book's nor part of a title proposes no new book: all books are listed.
func (h *handlers) showBooks(ctx context.Context, r *chat.Request, d draft, before int64) error {
	filter := download.BookFilter{Words: chat.Query(d.Words), Before: before, Limit: booksPerPage + 1}
	books, err := h.downloads.Books(ctx, filter)
	note := ""
	if id, isNumber := chat.ReadNumber(d.Words); err == nil && isNumber && len(books) == 0 && len(d.Sources) == 0 {
		note = "⚠️ " + r.Say(textNoBook, id)
		d.Words, filter.Words = "", ""
		books, err = h.downloads.Books(ctx, filter)
	}
	if err != nil {
		return err
	}
	if d.Words != "" && before == 0 && len(books) == 1 && len(d.Sources) == 0 {
		d.Book = books[0].ID
		return h.proceed(ctx, r, d)
	}

	if _, err := torrent.ParseSource(torrent.Tidy(d.Link)); d.Link != "" && err != nil {
		return chat.Hint{Text: textBadLink}
	}

	books, next := chat.Page(books, booksPerPage, func(book download.Book) int64 { return book.ID })
	h.Show(ctx, r, booksView(r.User.Language, d, books, before, next).Noted(note))
	return nil
}

func booksView(language string, d draft, books []download.Book, before, next int64) chat.View {
	text := textBooks.In(language)
	switch {
	case len(d.Sources) > 0:
		text = textWhichRelease.In(language, chat.ShortHTML(d.Sources[0].Title, titleLength))
	case d.Link != "":
		text = textWhichLink.In(language)
	}
	if d.Words != "" {
		found := chat.TextResults.In(language, chat.HTML(d.Words))
		if d.Link == "" {
			text = found
		} else {
			text += "\n\n" + found
		}
	}

	var rows []chat.Row
	for _, book := range books {
		rows = append(rows, chat.Press(bookMarks[book.State]+" "+chat.Label(bookName(book)), "bk", book.ID))
	}
	if d.Words != "" && (len(books) == 0 || len(d.Sources) > 0) { // the release may be of another book
		rows = append(rows, chat.Press(labelAddBook.In(language, chat.Label(cmp.Or(d.Proposed, d.Words))), "bn"))
	}

	switch {
	case len(books) > 0:
		text += "\n\n" + textChooseBook.In(language)
	case d.Words == "":
		text += "\n\n" + textNoBooks.In(language)
	case d.Link != "":
		text += "\n\n" + textNotThere.In(language)
	default:
		text += "\n\n" + words.NoSuchBook.In(language)
	}

	rows = append(rows, chat.Turn(language, "bp", before, next))
	return chat.View{Text: text, Rows: chat.Rows(rows...), Ask: d.asked()}
}

// bookName names a book on a button.
func bookName(book download.Book) string {
	if book.Author == "" {
		return book.Title
	}
	return book.Title + " — " + book.Author
}

// bookTitle names a book in a message, as HTML.
func bookTitle(book download.Book) string {
	title := "📖 <b>" + chat.ShortHTML(book.Title, titleLength) + "</b>"
	if book.Author != "" {
		title += "\n" + chat.ShortHTML(book.Author, titleLength)
	}
	return title
}

// chooseBook is the button of a book. In a list the book may be for a draft; a notification stays as it is, and the
// card is a new message below it.
func (h *handlers) chooseBook(ctx context.Context, r *chat.Request, args chat.Args) error {
	d, _ := draftOf(r)
	if !r.OnMenu() {
		d, r.Message = draft{Key: newKey(r)}, 0
	}
	if d.Book != 0 { // back from a later step
		d.Medium = ""
	}
	d.Book = args.Number(0)
	return h.proceed(ctx, r, d)
}

// showBook shows the card of a book, with a note on top. It asks for what a draft still lacks; for a draft without a
// key it asks nothing.
func (h *handlers) showBook(ctx context.Context, r *chat.Request, d draft, note string) error {
	book, err := h.downloads.Book(ctx, d.Book)
	if err != nil {
		return err
	}

	filter := download.Filter{UserID: r.User.ID, BookID: d.Book, Active: true, Limit: len(download.MediaTypes)}
	jobs, err := h.downloads.List(ctx, r.User, filter)
	if err != nil {
		return err
	}

	card := bookCard(r.User.Language, book, jobs, h.downloads.Indexers != nil).Noted(note)
	card.Rows = append(chat.Rows(h.sendButtons(r.User.Language, book)), card.Rows...)
	if d.Key != "" {
		question := textAskLink
		if d.Link != "" {
			question = textAskMedium
		}
		card.Text, card.Ask = card.Text+"\n\n"+r.Say(question), d.asked()
	}
	h.Show(ctx, r, card)
	return nil
}

// bookCard draws a book, its media, and the person's own downloads of it; finds says that releases can be searched for.
func bookCard(language string, book download.Book, jobs []download.Download, finds bool) chat.View {
	lines := []string{bookTitle(book), textBookNumber.In(language, book.ID), ""}
	var media, searches chat.Row
	for _, medium := range download.MediaTypes {
		name := words.MediaNames[medium].In(language)
		lines = append(lines, name+": "+mediumState(book, medium).In(language))
		media = append(media, chat.Press(labelGetMedium.In(language, name), "dm", book.ID, medium)...)
		if finds {
			searches = append(searches, chat.Press(labelFindMedium.In(language, name), "fb", book.ID, medium)...)
		}
	}

	for _, job := range jobs {
		lines = append(lines, "", textDownloadOf.In(language, job.ID, words.MediaNames[job.MediaType].In(language)))
		lines = append(lines, progress(language, job)...)
	}
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(searches, media, chat.Press(labelBooks.In(language), "bp"))}
}

func mediumState(book download.Book, medium string) words.Text {
	for _, m := range book.Media {
		if m.MediaType == medium {
			return words.MediaStates[m.Status]
		}
	}
	return words.NoMedium
}
