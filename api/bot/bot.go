// Package bot is the Telegram door: people browse the shared folder, ask for files and watch their jobs, and
// administrators let people in; agents share tasks and are told of what happens to them; readers have books downloaded.
//
//	getUpdates → read (updates.go) → who is it, may they (access.go) → command or button (dispatch.go) → handler
//	boards: what changed → drawn → one message per entity, edited (board.go)
//	notices: what happened to an entity → one new message to each whom it concerns (notices.go)
//
// A workload adds a file with its commands and buttons, one that draws its board, and one that draws its news; all are
// listed in New.
package bot

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/internal/allowance"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// Catalog shows the shared folder.
type Catalog interface {
	// FolderByID lists a part of a folder; id 0 is the top.
	FolderByID(ctx context.Context, id int64, limit, offset int) (catalog.Listing, error)
	// File finds a file.
	File(ctx context.Context, id int64) (store.File, error)
	// Search finds entries by words in their names; indexing: not everything is known yet, more may be found soon.
	Search(ctx context.Context, words string, limit, offset int) (files []store.File, indexing bool, err error)
}

// StatusSource tells how the service is doing.
type StatusSource interface {
	Now(ctx context.Context) (status.Status, error)
	// WatchWorkers raises and closes the alerts that a worker cannot.
	WatchWorkers(ctx context.Context) error
}

// Options are what the bot works with.
type Options struct {
	Telegram       *telego.Bot
	Store          *store.Store
	Deliveries     *service.Deliveries
	Tasks          *service.Tasks
	Downloads      *service.Downloads
	Transactions   *service.Transactions
	Catalog        Catalog
	Status         StatusSource
	Log            *slog.Logger
	Requests       *allowance.Users // the rate of each user's requests; nil: no bound
	OnRefused      func(string)     // counts requests that are refused for a limit, by its name; nil: nobody does
	Strangers      int              // new people an hour; 0: no bound
	ActivateAtOnce bool             // new people need no approval
	AdminIDs       []int64          // Telegram ids of people who are administrators unless they were blocked
	EditEvery      time.Duration    // the shortest pause between edits of one message; 0: 3 s
	GatherNotices  time.Duration    // how long changes of one task are gathered for one message; 0: 3 s
	AlertCalm      time.Duration    // how long an incident has to be over before that is told; 0: store.AlertCalm
	PollTimeout    time.Duration    // how long Telegram may wait for news, whole seconds; 0: 50 s
}

// Bot is the Telegram door.
type Bot struct {
	telegram       *telego.Bot
	store          *store.Store
	deliveries     *service.Deliveries
	tasks          *service.Tasks
	downloads      *service.Downloads
	transactions   *service.Transactions
	catalog        Catalog
	status         StatusSource
	log            *slog.Logger
	requests       *allowance.Users
	onRefused      func(string)
	strangers      int
	activateAtOnce bool
	adminIDs       []int64
	editEvery      time.Duration
	gatherNotices  time.Duration
	alertCalm      time.Duration
	pollTimeout    time.Duration

	commands     []command
	buttons      []button
	liveMessages map[string]liveMessageKind // by workload
	notices      map[string]noticeKind      // by workload
	pace         *pace

	databaseAway time.Time // since when; zero: it is there
}

const (
	standBy = 2 * time.Second // between attempts to become the one process that serves the bot
	grace   = 5 * time.Second // for finishing what was begun when the process is told to stop
)

// New makes the bot; Run lets it work.
func New(o Options) *Bot {
	b := &Bot{
		telegram: o.Telegram, store: o.Store, deliveries: o.Deliveries, tasks: o.Tasks, downloads: o.Downloads,
		transactions: o.Transactions,
		catalog:      o.Catalog, status: o.Status, log: o.Log,
		requests: cmp.Or(o.Requests, allowance.NewUsers(o.Store, 0)), strangers: o.Strangers, onRefused: o.OnRefused,
		activateAtOnce: o.ActivateAtOnce, adminIDs: o.AdminIDs,
		editEvery:     cmp.Or(o.EditEvery, 3*time.Second),
		gatherNotices: cmp.Or(o.GatherNotices, 3*time.Second),
		alertCalm:     cmp.Or(o.AlertCalm, store.AlertCalm),
		pollTimeout:   cmp.Or(o.PollTimeout, 50*time.Second),
	}

	b.commands = slices.Concat(
		b.helpCommands(), b.fileCommands(), b.jobCommands(), b.taskCommands(), b.downloadCommands(), b.starsCommands(),
		b.adminCommands(),
	)

	b.buttons = slices.Concat(
		b.fileButtons(), b.jobButtons(), b.taskButtons(), b.downloadButtons(), b.starsButtons(), b.adminButtons(),
	)

	b.liveMessages = map[string]liveMessageKind{
		store.DeliveryLiveMessages: b.deliveryLiveMessage(), store.DownloadLiveMessages: b.downloadLiveMessage(),
	}

	b.notices = map[string]noticeKind{
		store.TaskNotices: b.taskNews, store.DownloadNotices: b.downloadNews, store.TransactionNotices: b.transactionNews,
		store.SmallTransferNotices: b.smallTransferNews,
	}

	b.pace = newPace(b.editEvery)
	return b
}

// Run serves the bot until ctx ends. Of several processes one serves; the others stand by and take over.
func (b *Bot) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		served, err := b.store.OnlyBot(ctx, b.serve)
		if err != nil && ctx.Err() == nil {
			b.log.Warn("bot: standing by", "error", err)
		}

		switch {
		case fault.CodeOf(err) == fault.StoreUnavailable:
			b.databaseIsAway()
		case err == nil && !served:
			b.databaseAway = time.Time{} // the process that serves tells of it
		}

		sleep(ctx, standBy)
	}

	return nil
}

// serve works while this process is the only one; it ends with ctx.
func (b *Bot) serve(ctx context.Context) error {
	b.databaseIsBack(ctx)
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context){b.publishCommands, b.pollUpdates, b.keepLiveMessages, b.keepNotices, b.sendAlerts, b.watch} {
		loops.Go(func() { loop(ctx) })
	}
	<-ctx.Done() // as when PostgreSQL goes: what was begun takes seconds to finish, and the outage does not wait for that
	b.databaseIsAway()
	loops.Wait()
	return ctx.Err()
}

// withGrace gives a context that outlives ctx by the grace: what was begun is finished, not cut in the middle.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		sleep(work, grace)
		cancel()
	})
	return work, func() {
		stop()
		cancel()
	}
}

// sleep waits for d; false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
