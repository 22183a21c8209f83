package deliveries

import (
	"context"
	"strconv"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/store/delivery"
)

// pageSize is how many entries a page of the menu has.
const pageSize = 8

// openFolder shows a page of a folder; without arguments the top.
func (h *handlers) openFolder(ctx context.Context, r *chat.Request, args chat.Args) error {
	return h.showFolder(ctx, r, args.Offset(0), args.Offset(1))
}

func (h *handlers) openParent(ctx context.Context, r *chat.Request, args chat.Args) error {
	folder, err := h.store.FileByID(ctx, args.Number(0))
	if err != nil {
		return err
	}
	if folder.Parent == "/" {
		return h.showFolder(ctx, r, 0, 0)
	}

	parent, err := h.store.FileByPath(ctx, folder.Parent)
	if err != nil {
		return err
	}
	return h.showFolder(ctx, r, parent.ID, 0)
}

func (h *handlers) showFolder(ctx context.Context, r *chat.Request, id, page int64) error {
	listing, err := h.catalog.FolderByID(ctx, id, pageSize, int(page)*pageSize)
	if err == nil && page > 0 && len(listing.Files) == 0 { // the folder has shrunk
		page = int64(pages(listing.Total) - 1)
		listing, err = h.catalog.FolderByID(ctx, id, pageSize, int(page)*pageSize)
	}
	if err != nil {
		return err
	}

	r.Conv.FolderID, r.Conv.Asking = id, false
	h.Show(ctx, r, folderView(r.User.Language, id, listing, int(page)))
	return nil
}

// place is where in the menu a file was found, for the Back button: a page of a folder, or of search results.
type place struct {
	folder  int64
	results bool
	page    int64
}

// placeOf reads a place from a button's arguments: "<folder>:<page>", or "r:<page>" for results.
func placeOf(args chat.Args) place {
	if len(args) > 0 && args[0] == "r" {
		return place{results: true, page: args.Offset(1)}
	}
	return place{folder: args.Offset(0), page: args.Offset(1)}
}

// String is the inverse of placeOf.
func (p place) String() string {
	folder := strconv.FormatInt(p.folder, 10)
	if p.results {
		folder = "r"
	}
	return folder + ":" + strconv.FormatInt(p.page, 10)
}

func (h *handlers) openFile(ctx context.Context, r *chat.Request, args chat.Args) error {
	file, err := h.catalog.File(ctx, args.Number(0))
	if err != nil {
		return err
	}
	r.Conv.Asking = false
	h.Show(ctx, r, h.fileView(r.User.Language, file, placeOf(args[1:]), ""))
	return nil
}

// deliver requests a delivery. The button's nonce is the idempotency key: neither a second press nor a redelivered
// update creates a second job. The card is redrawn with a new nonce, for another job.
func (h *handlers) deliver(ctx context.Context, r *chat.Request, args chat.Args) error {
	if len(args) < 2 {
		return chat.Hint{Text: chat.TextStaleButton}
	}

	file, err := h.catalog.File(ctx, args.Number(0))
	if err != nil {
		return err
	}

	job, created, err := h.deliveries.Request(ctx, r.User, file.ID, args[1], delivery.SourceBot)
	if err != nil {
		return err
	}

	r.Note = r.Say(textAskedBefore, job.ID)
	if created {
		r.Note = r.Say(textAsked, job.ID)
	}

	h.Show(ctx, r, h.fileView(r.User.Language, file, placeOf(args[2:]), r.Note))
	return nil
}

// askWords makes the menu ask for words; the next message is the answer.
func (h *handlers) askWords(ctx context.Context, r *chat.Request, _ chat.Args) error {
	r.Conv.Asking = true
	h.Show(ctx, r, chat.View{
		Text: r.Say(textAskWords),
		Rows: chat.Rows(chat.Press(r.Say(chat.LabelBack), "f", r.Conv.FolderID, 0)),
	})
	return nil
}

// searchWords searches for what a person wrote. The menu shows the results: in place when it had asked for the words,
// or else in a new message.
func (h *handlers) searchWords(ctx context.Context, r *chat.Request, _ chat.Args) error {
	if r.Words == "" {
		return chat.Hint{Text: chat.TextOnlyWords}
	}
	if r.Conv.Asking {
		r.Message = r.Conv.MessageID
	}
	r.Conv.Query = chat.Query(r.Words)
	return h.showResults(ctx, r, 0)
}

func (h *handlers) openResults(ctx context.Context, r *chat.Request, args chat.Args) error {
	if r.Conv.Query == "" {
		return h.askWords(ctx, r, nil)
	}
	return h.showResults(ctx, r, int(args.Offset(0)))
}

func (h *handlers) showResults(ctx context.Context, r *chat.Request, page int) error {
	// One extra entry shows whether there is another page.
	files, indexing, err := h.catalog.Search(ctx, r.Conv.Query, pageSize+1, page*pageSize)
	if err != nil {
		return err
	}
	r.Conv.Asking = false
	h.Show(ctx, r, resultsView(r.User.Language, r.Conv, files, page, indexing))
	return nil
}
