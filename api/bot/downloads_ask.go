package bot

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// wish is what a person has said of a download so far; the conversation keeps it while the menu asks for the rest.
type wish struct {
	// of the request that it will be: the same once more, after a crash, is the same download
	Key    string `json:"key"`
	Book   int64  `json:"book,omitempty"`   // 0: not chosen yet
	Words  string `json:"words,omitempty"`  // by which a book is searched for
	Medium string `json:"medium,omitempty"` // empty: not chosen yet
	Link   string `json:"link,omitempty"`   // empty: not given yet
}

// askedWish begins what the conversation remembers while the menu asks something about a download: "download:<the
// wish>".
const askedWish = "download:"

func asksForWish(ask string) bool { return strings.HasPrefix(ask, askedWish) }

// asked gives the wish as the conversation remembers it.
func (w wish) asked() string {
	text, _ := json.Marshal(w) // texts and numbers can always be written
	return askedWish + string(text)
}

// wishOf gives the wish that the menu asks about; a new one when it asks about none.
func (r *request) wishOf() (w wish, asked bool) {
	text, asked := strings.CutPrefix(r.conv.Ask, askedWish)
	if asked && json.Unmarshal([]byte(text), &w) == nil {
		return w, true
	}
	return wish{Key: r.wishKey()}, false
}

// wishKey makes the key of a new wish. A press has no date, and its number alone may come again in another year.
func (r *request) wishKey() string {
	if r.click != "" {
		return "bot/" + newNonce()
	}
	return r.key()
}

// isLink says whether a word is meant as a link; whether it is a good one is found out later.
func isLink(word string) bool {
	return strings.HasPrefix(strings.ToLower(word), "magnet:") || strings.Contains(word, "://")
}

func hasLink(words string) bool { return slices.ContainsFunc(strings.Fields(words), isLink) }

// readWish reads "<book> <link> [medium]", of which any part may be missing. The name of a medium may be a part of a
// title, so it counts behind a link or a number only.
func readWish(said string) (w wish) {
	var words []string
	for _, word := range strings.Fields(said) {
		medium := mediumCalled(word)
		numbered := len(words) == 1 && isNumber(words[0])
		switch {
		case w.Link == "" && isLink(word):
			w.Link = word
		case medium != "" && (w.Link != "" || numbered):
			w.Medium = medium
		default:
			words = append(words, word)
		}
	}

	w.Words = strings.Join(words, " ")
	return w
}

func isNumber(word string) bool {
	_, ok := readNumber(word)
	return ok
}

// mediumCalled gives the medium that a person names, in either language; "" when it is none.
func mediumCalled(word string) string {
	for medium, called := range mediaWords {
		if slices.Contains(called, strings.ToLower(word)) {
			return medium
		}
	}
	return ""
}

// askDownload is /download <book> <link> [medium]. Who gives a link there and no medium means the text.
func (b *Bot) askDownload(ctx context.Context, r *request) error {
	w := readWish(r.args)
	w.Key = r.wishKey()
	if w.Link != "" && w.Medium == "" {
		w.Medium = store.MediaText
	}
	return b.pursue(ctx, r, w)
}

// takeWish takes what a person wrote for what the menu has asked about a download, or for the begin of one: a link that
// comes out of the blue.
func (b *Bot) takeWish(ctx context.Context, r *request) error {
	w, asked := r.wishOf()
	if asked {
		r.message = r.conv.MessageID
	}

	said := readWish(r.words)
	switch medium := mediumCalled(said.Words); {
	case r.words == "": // a picture, say: the question stands
		return hint{text: textOnlyWords}
	case said.Words == "" || said.Link != "" && w.Book != 0:
	case w.Book == 0:
		w.Words = said.Words
	case w.Medium == "" && medium != "":
		w.Medium = medium
	default:
		return hint{text: textBadLink}
	}

	if said.Link != "" {
		w.Link = said.Link
	}

	if said.Medium != "" {
		w.Medium = said.Medium
	}
	return b.pursue(ctx, r, w)
}

// pursue asks for what a wish lacks, or fulfils it.
func (b *Bot) pursue(ctx context.Context, r *request, w wish) error {
	switch {
	case w.Book == 0:
		return b.findBook(ctx, r, w)
	case w.Medium == "":
		return b.showBook(ctx, r, w, "")
	case w.Link == "":
		return b.askLink(ctx, r, w, "")
	default:
		return b.fulfil(ctx, r, w)
	}
}

// chooseMedium is the button of a medium on a book's card.
func (b *Bot) chooseMedium(ctx context.Context, r *request, args []string) error {
	if len(args) < 2 || !slices.Contains(store.MediaTypes, args[1]) {
		return hint{text: textStaleBook}
	}
	w, _ := r.wishOf()
	w.Book, w.Medium = number(args, 0), args[1]
	return b.pursue(ctx, r, w)
}

// askLink makes the menu ask for a link, with a note on top.
func (b *Bot) askLink(ctx context.Context, r *request, w wish, note string) error {
	book, err := b.downloads.Book(ctx, w.Book)
	if err != nil {
		return err
	}
	text := bookTitle(book) + " · " + r.say(mediaNames[w.Medium]) + "\n\n" + r.say(textAskLink)
	if note != "" {
		text = note + "\n\n" + text
	}
	b.show(ctx, r, view{text: text, rows: rows(press(r.say(labelBack), "bk", w.Book)), ask: w.asked()})
	return nil
}

// fulfil starts the download, and shows the book with a note of that; the download itself has a message of its own.
func (b *Bot) fulfil(ctx context.Context, r *request, w wish) error {
	job, created, err := b.begin(
		ctx, r, service.DownloadAsk{BookID: w.Book, MediaType: w.Medium, SourceURL: w.Link, Key: w.Key},
	)
	if fault.CodeOf(err) == fault.Validation { // of the link: the rest was chosen
		w.Link = ""
		return b.askLink(ctx, r, w, "⚠️ "+r.say(textBadLink))
	}
	if err != nil {
		return err
	}

	if !created && job.SourceURL != w.Link {
		r.note = r.say(textDownloadOther, job.ID)
		return b.showBook(ctx, r, wish{Book: w.Book}, "⚠️ "+r.note)
	}

	r.note = r.say(began(created), job.ID)
	return b.showBook(ctx, r, wish{Book: w.Book}, "✅ "+r.note)
}
