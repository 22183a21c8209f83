package downloads

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/download"
)

// draft is what a person has chosen for a download so far. It is kept in the conversation while the menu asks for the
// rest.
type draft struct {
	// Key is the idempotency key of the download, so that a request repeated after a crash starts no second one.
	Key    string `json:"key"`
	Book   int64  `json:"book,omitempty"`   // 0: not chosen yet
	Words  string `json:"words,omitempty"`  // to search for a book
	Medium string `json:"medium,omitempty"` // empty: not chosen yet
	Link   string `json:"link,omitempty"`   // empty: not given yet

	// Proposed is "<title> / <author>" of a new book, taken from the picked release; empty: Words are used.
	Proposed string `json:"proposed,omitempty"`

	List    string            `json:"list,omitempty"`    // identifies the list of releases shown; empty: none is
	Found   []download.Source `json:"found,omitempty"`   // the releases in that list
	Sources []download.Source `json:"sources,omitempty"` // the picked release, whose link is Link, and its alternatives
}

// askedDraft prefixes the conversation's entry while the menu asks about a download: "download:<draft>".
const askedDraft = "download:"

// aboutADownload matches an answer to a question about a download, and words that contain a link.
func aboutADownload(r *chat.Request) bool {
	return strings.HasPrefix(r.Conv.Ask, askedDraft) || slices.ContainsFunc(strings.Fields(r.Words), isLink)
}

// asked encodes the draft for the conversation.
func (d draft) asked() string {
	text, _ := json.Marshal(d) // cannot fail: only strings and numbers
	return askedDraft + string(text)
}

// draftOf returns the draft that the menu asks about, or a new one.
func draftOf(r *chat.Request) (d draft, asked bool) {
	text, asked := strings.CutPrefix(r.Conv.Ask, askedDraft)
	if asked && json.Unmarshal([]byte(text), &d) == nil {
		return d, true
	}
	return draft{Key: newKey(r)}, false
}

// newKey makes the key of a new draft. A button press has no date, and an update number alone may repeat.
func newKey(r *chat.Request) string {
	if r.Click != "" {
		return "bot/" + chat.Nonce()
	}
	return r.Key()
}

// isLink reports whether a word is meant as a link. Whether the link is usable is decided later.
func isLink(word string) bool {
	return strings.HasPrefix(strings.ToLower(word), "magnet:") || strings.Contains(word, "://")
}

// readDraft parses "<book> <link> [medium]", of which any part may be missing. The name of a medium may be part of a
// title, so it only counts after a link or a number.
func readDraft(said string) (d draft) {
	var words []string
	numbered := false // the words are a number
	for _, word := range strings.Fields(said) {
		medium := mediumCalled(word)
		switch {
		case d.Link == "" && isLink(word):
			d.Link = word
		case medium != "" && (d.Link != "" || numbered):
			d.Medium = medium
		default:
			words = append(words, word)
			_, isNumber := chat.ReadNumber(word)
			numbered = isNumber && len(words) == 1
		}
	}

	d.Words = strings.Join(words, " ")
	return d
}

// mediumCalled returns the medium that a word names in either language; "" if none.
func mediumCalled(word string) string {
	for medium, called := range mediaWords {
		if slices.Contains(called, strings.ToLower(word)) {
			return medium
		}
	}
	return ""
}

// askDownload is /download <book> <link> [medium]. Without a medium, a link is for the text.
func (h *handlers) askDownload(ctx context.Context, r *chat.Request, _ chat.Args) error {
	d := readDraft(r.Args)
	d.Key = newKey(r)
	if d.Link != "" && d.Medium == "" {
		d.Medium = download.MediaText
	}
	return h.proceed(ctx, r, d)
}

// takeWords takes what a person wrote as the answer to a question about a download, or as the link of a new one.
func (h *handlers) takeWords(ctx context.Context, r *chat.Request, _ chat.Args) error {
	d, _ := draftOf(r)
	said := readDraft(r.Words)
	switch medium := mediumCalled(said.Words); {
	case r.Words == "": // for example a picture: the question stays open
		return chat.Hint{Text: chat.TextOnlyWords}
	case d.List != "" && said.Link == "": // a new search for the same draft
		d.Words = said.Words
		return h.search(ctx, r, d)
	case said.Words == "" || said.Link != "" && d.Book != 0:
	case d.Book == 0:
		d.Words, d.Proposed = said.Words, ""
	case d.Medium == "" && medium != "":
		d.Medium = medium
	default:
		return chat.Hint{Text: textBadLink}
	}

	if said.Link != "" {
		d.Link, d.Sources, d.Found, d.List, d.Proposed = said.Link, nil, nil, "", ""
	}
	d.Medium = cmp.Or(said.Medium, d.Medium)
	return h.proceed(ctx, r, d)
}

// proceed asks for what a draft still lacks, or starts the download.
func (h *handlers) proceed(ctx context.Context, r *chat.Request, d draft) error {
	switch {
	case d.Book == 0:
		return h.findBook(ctx, r, d)
	case d.Medium == "":
		return h.showBook(ctx, r, d, "")
	case d.Link == "":
		return h.askLink(ctx, r, d, "")
	default:
		return h.start(ctx, r, d)
	}
}

// chooseMedium is the button of a medium on a book's card.
func (h *handlers) chooseMedium(ctx context.Context, r *chat.Request, args chat.Args) error {
	if len(args) < 2 || !slices.Contains(download.MediaTypes, args[1]) {
		return chat.Hint{Text: textStaleBook}
	}
	d, _ := draftOf(r)
	d.Book, d.Medium = args.Number(0), args[1]
	return h.proceed(ctx, r, d)
}

// askLink makes the menu ask for a link, with a note on top.
func (h *handlers) askLink(ctx context.Context, r *chat.Request, d draft, note string) error {
	book, err := h.downloads.Book(ctx, d.Book)
	if err != nil {
		return err
	}

	question := chat.View{
		Text: bookTitle(book) + " · " + r.Say(words.MediaNames[d.Medium]) + "\n\n" + r.Say(textAskLink),
		Rows: chat.Rows(chat.Press(r.Say(chat.LabelBack), "bk", d.Book)), Ask: d.asked(),
	}
	h.Show(ctx, r, question.Noted(note))
	return nil
}

// start starts the download, and shows the book with a note about it. The download has its own live message.
func (h *handlers) start(ctx context.Context, r *chat.Request, d draft) error {
	ask := downloads.Ask{
		BookID: d.Book, MediaType: d.Medium, SourceURL: d.Link, Sources: d.Sources, Key: d.Key,
		Send: h.downloads.Library, // a download from a chat is wanted in the chat
	}
	if len(d.Sources) > 0 {
		ask.Source = d.Sources[0].Indexer
	}
	job, created, err := h.downloads.Start(ctx, r.User, ask)
	if fault.CodeOf(err) == fault.Validation { // it concerns the link: the rest was picked from lists
		d.Link, d.Sources = "", nil
		return h.askLink(ctx, r, d, "⚠️ "+r.Say(textBadLink))
	}
	if err != nil {
		return unlessOff(err)
	}

	if !created && !job.AsksFor(d.Link) {
		r.Note = r.Say(words.OtherLink, job.ID)
		return h.showBook(ctx, r, draft{Book: d.Book}, "⚠️ "+r.Note)
	}

	r.Note = r.Say(began(created), job.ID)
	return h.showBook(ctx, r, draft{Book: d.Book}, "✅ "+r.Note)
}

// retryDownload is the button on the notification of a download that did not complete. However often it is pressed, it
// starts one new download.
func (h *handlers) retryDownload(ctx context.Context, r *chat.Request, args chat.Args) error {
	id := args.Number(0)
	again, created, err := h.downloads.Again(ctx, r.User, id, "bot/again/"+strconv.FormatInt(id, 10), true)
	if err != nil {
		return unlessOff(err)
	}

	r.Note = r.Say(began(created), again.ID)
	return nil
}

// unlessOff replaces the error with a hint where downloads are disabled; an unreachable qBittorrent is waited for.
func unlessOff(err error) error {
	if fault.CodeOf(err) == fault.ProviderUnavailable {
		return chat.Hint{Text: textDownloadsOff}
	}
	return err
}

func began(created bool) words.Text {
	if created {
		return textDownloadAsked
	}
	return textDownloadAskedBefore
}
