// Package deliveries is the bot's part for deliveries: people browse and search the shared folder, ask for files, and
// follow and cancel their jobs.
package deliveries

import (
	"context"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/catalog"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/delivery"
)

// Catalog reads the shared folder.
type Catalog interface {
	// FolderByID lists a part of a folder; id 0 is the top.
	FolderByID(ctx context.Context, id int64, limit, offset int) (catalog.Listing, error)
	// File finds a file.
	File(ctx context.Context, id int64) (delivery.File, error)
	// Search finds entries by words in their names. indexing says that the index is not complete, so that more entries
	// may be found soon.
	Search(ctx context.Context, words string, limit, offset int) (files []delivery.File, indexing bool, err error)
}

// Store is the part of the record that deliveries use in the bot.
type Store interface {
	FileByID(ctx context.Context, id int64) (delivery.File, error)
	FileByPath(ctx context.Context, path string) (delivery.File, error)
	List(ctx context.Context, filter delivery.Filter) ([]delivery.Job, error)
	// Line returns the places of all jobs that wait, as they were at most age ago.
	Line(ctx context.Context, age time.Duration) (map[int64]int, error)
}

type handlers struct {
	*chat.Sender
	deliveries *service.Deliveries
	catalog    Catalog
	store      Store
}

// lineAge is how old the places in line of live messages may be: those of a tick need one reading, however many wait.
const lineAge = time.Second

// New returns the commands, buttons and live messages of deliveries. Plain words that nothing else matches are a
// search.
func New(sender *chat.Sender, deliveries *service.Deliveries, files Catalog, record Store) chat.Part {
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
			{Prefix: "j", Command: "jobs", Run: h.showJobs},     // j:<ids below this one; 0: the newest>
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
