// Package deliveries is the bot's part for deliveries: people browse and search the shared folder, request files, and
// follow and cancel their jobs.
package deliveries

import (
	"context"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/catalog"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store/delivery"
)

// Catalog reads the shared folder.
type Catalog interface {
	// FolderByID lists a page of a folder; id 0 is the top.
	FolderByID(ctx context.Context, id int64, limit, offset int) (catalog.Listing, error)
	// File finds a file.
	File(ctx context.Context, id int64) (delivery.File, error)
	// Search finds entries by words in their names. indexing reports that the index is incomplete, so that more entries
	// may be found soon.
	Search(ctx context.Context, words string, limit, offset int) (files []delivery.File, indexing bool, err error)
}

// Store is what the bot needs of the record for deliveries.
type Store interface {
	FileByID(ctx context.Context, id int64) (delivery.File, error)
	FileByPath(ctx context.Context, path string) (delivery.File, error)
	List(ctx context.Context, filter delivery.Filter) ([]delivery.Job, error)
	// Line returns the queue positions of all waiting jobs, at most age old.
	Line(ctx context.Context, age time.Duration) (map[int64]int, error)
}

type handlers struct {
	*chat.Sender
	deliveries *deliveries.Service
	catalog    Catalog
	store      Store
}

// lineAge is how old the queue positions in live messages may be: one read per tick serves all waiting jobs.
const lineAge = time.Second

// New returns the commands, buttons and live messages of deliveries. Plain words that match nothing else are a search.
func New(sender *chat.Sender, deliveries *deliveries.Service, files Catalog, record Store) chat.Part {
	h := &handlers{Sender: sender, deliveries: deliveries, catalog: files, store: record}

	return chat.Part{
		Commands: []chat.Command{
			{Name: "files", About: words.Text{"browse the files", "посмотреть файлы"}, Run: h.openFolder},
			{Name: "jobs", About: words.Text{"your latest deliveries", "ваши последние доставки"}, Run: h.showJobs},
			{Name: "cancel", About: words.Text{"cancel a delivery: /cancel 12", "отменить доставку: /cancel 12"}, Run: h.cancelNamed},
		},
		Buttons: []chat.Button{
			{Prefix: "f", Command: "files", Run: h.openFolder},  // f:<folder>:<page>
			{Prefix: "u", Command: "files", Run: h.openParent},  // u:<folder>
			{Prefix: "i", Command: "files", Run: h.openFile},    // i:<file>:<place>
			{Prefix: "d", Command: "files", Run: h.deliver},     // d:<file>:<nonce>:<place>
			{Prefix: "s", Command: "files", Run: h.askWords},    // s
			{Prefix: "r", Command: "files", Run: h.openResults}, // r:<page>
			{Prefix: "j", Command: "jobs", Run: h.showJobs},     // j:<ids below this one; 0: newest>
			{Prefix: "c", Command: "cancel", Run: h.cancelJob},  // c:<job>
		},
		Words: []chat.Words{
			{Command: "files", Match: func(*chat.Request) bool { return true }, Run: h.searchWords},
		},
		LiveMessages: map[string]chat.LiveMessage{
			lifecycle.WorkloadDelivery: {
				Draw:  h.drawJob,
				Ended: func(state string) bool { return lifecycle.Delivery.Terminal(lifecycle.DeliveryState(state)) },
			},
		},
		Status: map[string]chat.Status{lifecycle.WorkloadDelivery: {Heading: textDeliveries}},
		Texts:  words.Deliveries,
	}
}
