package bot

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"

	"stagecoach/internal/store"
)

// pageSize is how many entries a page of the menu has.
const pageSize = 8

func (b *Bot) fileCommands() []command {
	return []command{{name: "files", about: aboutFiles, run: b.files}}
}

func (b *Bot) fileButtons() []button {
	return []button{
		{prefix: "f", command: "files", run: b.openFolder},  // f:<folder>:<page>
		{prefix: "u", command: "files", run: b.openParent},  // u:<folder>
		{prefix: "i", command: "files", run: b.openFile},    // i:<file>:<place>
		{prefix: "d", command: "files", run: b.download},    // d:<file>:<nonce>:<place>
		{prefix: "s", command: "files", run: b.askWords},    // s
		{prefix: "r", command: "files", run: b.openResults}, // r:<page>
	}
}

// files opens the menu at the top.
func (b *Bot) files(ctx context.Context, r *request) error {
	return b.showFolder(ctx, r, 0, 0)
}

func (b *Bot) openFolder(ctx context.Context, r *request, args []string) error {
	return b.showFolder(ctx, r, number(args, 0), number(args, 1))
}

func (b *Bot) openParent(ctx context.Context, r *request, args []string) error {
	folder, err := b.store.FileByID(ctx, number(args, 0))
	if err != nil {
		return err
	}
	if folder.Parent == "/" {
		return b.showFolder(ctx, r, 0, 0)
	}

	parent, err := b.store.FileByPath(ctx, folder.Parent)
	if err != nil {
		return err
	}
	return b.showFolder(ctx, r, parent.ID, 0)
}

func (b *Bot) showFolder(ctx context.Context, r *request, id, page int64) error {
	page = max(page, 0)
	listing, err := b.catalog.FolderByID(ctx, id, pageSize, int(page)*pageSize)
	if err == nil && page > 0 && len(listing.Files) == 0 { // the folder has fewer pages by now
		page = int64(pages(listing.Total) - 1)
		listing, err = b.catalog.FolderByID(ctx, id, pageSize, int(page)*pageSize)
	}

	if err != nil {
		return err
	}

	r.conv.FolderID, r.conv.Asking = id, false
	b.show(ctx, r, folderView(r.user.Language, id, listing, int(page)))
	return nil
}

// place is where in the menu a file was found, to go back to: a page of a folder, or of search results.
type place struct {
	folder  int64
	results bool
	page    int64
}

// placeOf reads a place from a button's arguments: "<folder>:<page>", or "r:<page>" for results.
func placeOf(args []string) place {
	if len(args) > 0 && args[0] == "r" {
		return place{results: true, page: max(number(args, 1), 0)}
	}
	return place{folder: max(number(args, 0), 0), page: max(number(args, 1), 0)}
}

// String gives the place as placeOf reads it.
func (p place) String() string {
	folder := strconv.FormatInt(p.folder, 10)
	if p.results {
		folder = "r"
	}
	return folder + ":" + strconv.FormatInt(p.page, 10)
}

func (b *Bot) openFile(ctx context.Context, r *request, args []string) error {
	file, err := b.catalog.File(ctx, number(args, 0))
	if err != nil {
		return err
	}
	r.conv.Asking = false
	b.show(ctx, r, b.fileView(r.user.Language, file, placeOf(args[1:]), ""))
	return nil
}

// download asks for a delivery. The nonce is the button's, so however often this button is pressed or its press is
// repeated, it is one job. The card is drawn anew with another nonce: pressing that is another job.
func (b *Bot) download(ctx context.Context, r *request, args []string) error {
	if len(args) < 2 {
		return hint{text: textStaleButton}
	}

	file, err := b.catalog.File(ctx, number(args, 0))
	if err != nil {
		return err
	}

	job, created, err := b.deliveries.Request(ctx, r.user, file.ID, args[1], store.SourceBot)
	if err != nil {
		return err
	}

	r.note = r.say(textAsked, job.ID)
	if !created {
		r.note = r.say(textAskedBefore, job.ID)
	}

	b.show(ctx, r, b.fileView(r.user.Language, file, placeOf(args[2:]), r.note))
	return nil
}

// newNonce makes what tells one drawing of a button from the next.
func newNonce() string {
	raw := make([]byte, 4)
	rand.Read(raw)
	return hex.EncodeToString(raw)
}
