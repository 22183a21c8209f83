package bot

import (
	"context"
	"html"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

const (
	booksPerPage = 8
	titleLength  = 100 // runes of a title in a message
)

// books is /books: the library, or what is found in it by words.
func (b *Bot) books(ctx context.Context, r *request) error {
	return b.pursue(ctx, r, wish{Key: r.wishKey(), Words: r.args})
}

// book is /book <number or words>, and /book new <title> / <author>.
func (b *Bot) book(ctx context.Context, r *request) error {
	first, rest := firstWord(r.args)
	if !strings.EqualFold(first, "new") || rest == "" {
		return b.books(ctx, r)
	}
	made, err := b.makeBook(ctx, r, rest, r.key())
	if err != nil {
		return err
	}
	return b.showBook(ctx, r, wish{Key: r.wishKey(), Book: made.ID}, r.say(textBookMade))
}

// makeBook adds "<title> / <author>" to the library.
func (b *Bot) makeBook(ctx context.Context, r *request, said, key string) (store.Book, error) {
	title, author := " "+strings.Join(strings.Fields(said), " "), ""
	if cut := strings.LastIndex(title, " / "); cut >= 0 {
		title, author = title[:cut], title[cut+len(" / "):]
	}
	made, err := b.downloads.CreateBook(ctx, r.user, title, author, key)
	if fault.CodeOf(err) == fault.Validation {
		err = hint{text: textBookUsage}
	}
	return made, err
}

// addBook is the button that adds a book that was searched for and is not there.
func (b *Bot) addBook(ctx context.Context, r *request, _ []string) error {
	w, asked := r.wishOf()
	if !asked || w.Words == "" {
		return hint{text: textStaleBook}
	}
	made, err := b.makeBook(ctx, r, w.Words, w.Key+"/book")
	if err != nil {
		return err
	}
	w.Book = made.ID
	return b.pursue(ctx, r, w)
}

// findBook looks for the book that a person means, by its number or by words, and lets them choose where that is not
// clear.
func (b *Bot) findBook(ctx context.Context, r *request, w wish) error {
	if id, ok := readNumber(w.Words); ok {
		book, err := b.downloads.Book(ctx, id)
		if err == nil {
			w.Book = book.ID
			return b.pursue(ctx, r, w)
		}
		if fault.CodeOf(err) != fault.BookNotFound { // else it may be a title
			return err
		}
	}

	return b.showBooks(ctx, r, w, 0)
}

// turnBooks is the button of a page; without a place it shows the whole library.
func (b *Bot) turnBooks(ctx context.Context, r *request, args []string) error {
	w, _ := r.wishOf()
	w.Book = 0
	before := number(args, 0)
	if before < 0 {
		w.Words, before = "", 0
	}
	return b.showBooks(ctx, r, w, before)
}

// showBooks lists the books that a wish may mean; the only one is meant.
func (b *Bot) showBooks(ctx context.Context, r *request, w wish, before int64) error {
	words := []rune(w.Words)
	books, err := b.downloads.Books(ctx, store.BookFilter{
		Words: string(words[:min(longestQuery, len(words))]), Before: before, Limit: booksPerPage + 1, // one more tells whether there is another page
	})
	if err != nil {
		return err
	}
	if w.Words != "" && before == 0 && len(books) == 1 {
		w.Book = books[0].ID
		return b.pursue(ctx, r, w)
	}

	more := len(books) > booksPerPage
	b.show(ctx, r, booksView(r.user.Language, w, books[:min(booksPerPage, len(books))], before, more))
	return nil
}

func booksView(language string, w wish, books []store.Book, before int64, more bool) view {
	text := textBooks.in(language)
	if w.Words != "" {
		text = textResults.in(language, html.EscapeString(clean(w.Words)))
	}

	var drawn [][]telego.InlineKeyboardButton
	for _, book := range books {
		drawn = append(drawn, press(bookMarks[book.State]+" "+label(bookName(book)), "bk", book.ID))
	}

	switch {
	case len(books) > 0:
		text += "\n\n" + textChooseBook.in(language)
	case w.Words != "":
		text += "\n\n" + textNoSuchBook.in(language)
		drawn = append(drawn, press(labelAddBook.in(language, label(w.Words)), "bn"))
	default:
		text += "\n\n" + textNoBooks.in(language)
	}

	var turn []telego.InlineKeyboardButton
	if before != 0 {
		turn = append(turn, press(labelNewest.in(language), "bp", 0)...)
	}

	if more {
		turn = append(turn, press(labelOlder.in(language), "bp", books[len(books)-1].ID)...)
	}
	return view{text: text, rows: rows(append(drawn, turn)...), ask: w.asked()}
}

// bookName is a book on a button.
func bookName(book store.Book) string {
	if book.Author == "" {
		return book.Title
	}
	return book.Title + " — " + book.Author
}

// bookTitle is a book in a message, as HTML.
func bookTitle(book store.Book) string {
	title := "📖 <b>" + html.EscapeString(shorten(clean(book.Title), titleLength)) + "</b>"
	if book.Author != "" {
		title += "\n" + html.EscapeString(shorten(clean(book.Author), titleLength))
	}
	return title
}

// chooseBook is the button of a book: in a list, where it may be for a download, or on a notice, which stays as it is.
func (b *Bot) chooseBook(ctx context.Context, r *request, args []string) error {
	w, _ := r.wishOf()
	if r.message != r.conv.MessageID {
		w, r.message = wish{Key: r.wishKey()}, 0
	}
	if w.Book != 0 { // on the way back
		w.Medium = ""
	}
	w.Book = number(args, 0)
	return b.pursue(ctx, r, w)
}

// showBook shows the card of a book, with a note on top. It asks for a medium and a link when there is a wish to
// fulfil.
func (b *Bot) showBook(ctx context.Context, r *request, w wish, note string) error {
	book, err := b.downloads.Book(ctx, w.Book)
	if err != nil {
		return err
	}

	jobs, err := b.downloads.List(
		ctx, r.user, store.DownloadFilter{UserID: r.user.ID, BookID: w.Book, Active: true, Limit: len(store.MediaTypes)},
	)
	if err != nil {
		return err
	}

	card := bookCard(r.user.Language, book, jobs)
	if note != "" {
		card.text = note + "\n\n" + card.text
	}

	switch {
	case w.Key == "":
	case w.Link != "":
		card.text, card.ask = card.text+"\n\n"+r.say(textAskMedium), w.asked()
	default:
		card.text, card.ask = card.text+"\n\n"+r.say(textAskLink), w.asked()
	}

	b.show(ctx, r, card)
	return nil
}

// bookCard draws a book, what there is of it, and the person's own downloads for it.
func bookCard(language string, book store.Book, jobs []store.Download) view {
	lines := []string{bookTitle(book), textBookNumber.in(language, book.ID), ""}
	var media []telego.InlineKeyboardButton
	for _, medium := range store.MediaTypes {
		lines = append(lines, mediaNames[medium].in(language)+": "+mediumStanding(book, medium).in(language))
		media = append(media, press(labelGetMedium.in(language, mediaNames[medium].in(language)), "dm", book.ID, medium)...)
	}

	for _, job := range jobs {
		lines = append(lines, "", textDownloadOf.in(language, job.ID, mediaNames[job.MediaType].in(language)))
		lines = append(lines, downloadStanding(language, job)...)
	}
	return view{text: strings.Join(lines, "\n"), rows: rows(media, press(labelBooks.in(language), "bp"))}
}

func mediumStanding(book store.Book, medium string) text {
	for _, m := range book.Media {
		if m.MediaType == medium {
			return mediaStates[m.Status]
		}
	}
	return textNoMedium
}
