// Package bot is the Telegram bot: it answers people, keeps live messages up to date, sends notifications, and lets
// administrators decide who may use it.
//
//	getUpdates (updates.go) → line of the chat (intake.go) → user and rights (access.go)
//	  → command, button or words (dispatch.go) → handler
//	live messages: changes → drawn → one message per entity, edited (live_messages.go)
//	notifications: events of an entity → one new message to each person concerned (notices.go)
//
// Each workload has a package below this one with its commands, buttons, live messages, notifications and texts: a
// chat.Part. Package parts lists them.
package bot

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
	"stagecoach/internal/store/notice"
)

// StatusSource reports the state of the service.
type StatusSource interface {
	Now(ctx context.Context) (status.Status, error)
	// WatchWorkers raises and closes the alerts that a worker cannot raise itself.
	WatchWorkers(ctx context.Context) error
}

// Options are the dependencies and settings of the bot.
type Options struct {
	Telegram       *telego.Bot
	Store          *store.Store
	Parts          []func(*chat.Sender) chat.Part // constructors of the workloads' parts
	Status         StatusSource
	Log            *slog.Logger
	Requests       *allowance.Users                        // rate of each user's requests; nil: unlimited
	OnRefused      func(string)                            // called with the limit of each refused request; may be nil
	Strangers      int                                     // new people an hour; 0: unlimited
	ActivateAtOnce bool                                    // new people need no approval
	CacheChat      int64                                   // the operator's group that the bot does not leave; 0: none
	AdminIDs       []int64                                 // Telegram ids of people who are administrators unless blocked
	EditEvery      time.Duration                           // the shortest pause between edits of one message; 0: 3 s
	GatherNotices  time.Duration                           // how long changes of one task are gathered for one message; 0: 3 s
	AlertCalm      time.Duration                           // from an incident's end to its message; 0: notice.AlertCalm
	PublicURL      string                                  // base URL of the pages
	OnBlocked      func(ctx context.Context, userID int64) // called when a user has been blocked; may be nil
	PollTimeout    time.Duration                           // long-poll timeout of getUpdates, whole seconds; 0: 50 s
}

// Bot is the Telegram bot.
type Bot struct {
	*chat.Sender
	o     Options
	store *store.Store

	commands     []chat.Command
	buttons      []chat.Button
	words        []chat.Words
	liveMessages map[string]chat.LiveMessage // by workload
	notices      map[string]chat.FindNotice  // by workload
	status       map[string]chat.Status      // by workload
	texts        words.Texts
	pace         *pace
	rates        allowance.Rates[allowance.Hash] // of answers and audit entries
	newcomers    allowance.Rates[int]            // one key for all of them

	slowDowns    *calm // by chat: rate limit of the "too many messages" answer
	groupAnswers *calm
	groupLeaves  *calm

	databaseAway time.Time // since when PostgreSQL is unavailable; zero: it is available
}

const (
	standBy = 2 * time.Second // between attempts to become the one process that serves the bot
	grace   = 5 * time.Second // to finish what is in flight when the process stops
)

// New returns a bot; Run starts it.
func New(o Options) *Bot {
	o.Requests = cmp.Or(o.Requests, allowance.NewUsers(0))
	o.EditEvery = cmp.Or(o.EditEvery, 3*time.Second)
	o.GatherNotices = cmp.Or(o.GatherNotices, 3*time.Second)
	o.AlertCalm = cmp.Or(o.AlertCalm, notice.AlertCalm)
	o.PollTimeout = cmp.Or(o.PollTimeout, 50*time.Second)

	sender := &chat.Sender{
		Telegram: o.Telegram, Log: o.Log, LiveMessages: o.Store.Notices, Pseudonym: o.Store.Accounts.LogNameOfTelegram,
	}
	b := &Bot{
		Sender: sender, o: o, store: o.Store, pace: newPace(o.EditEvery),
		slowDowns: newCalm(slowDownPause), groupAnswers: newCalm(groupPause), groupLeaves: newCalm(leavePause),
		liveMessages: map[string]chat.LiveMessage{}, notices: map[string]chat.FindNotice{},
		status: map[string]chat.Status{}, texts: words.NewTexts(),
	}

	b.add(b.help())
	for _, makePart := range o.Parts {
		b.add(makePart(sender))
	}
	b.add(b.administration())
	return b
}

// add adds a part. /help and the menu list commands in the order of the parts.
func (b *Bot) add(part chat.Part) {
	b.commands = append(b.commands, part.Commands...)
	b.buttons = append(b.buttons, part.Buttons...)
	b.words = append(b.words, part.Words...)
	maps.Copy(b.liveMessages, part.LiveMessages)
	maps.Copy(b.notices, part.Notices)
	maps.Copy(b.status, part.Status)
	b.texts.Add(part.Texts)
}

// Run serves the bot until ctx is done. One of several processes serves; the others stand by and take over.
func (b *Bot) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		served, err := b.store.Notices.OnlyBot(ctx, b.serve)
		if err != nil && ctx.Err() == nil {
			b.Log.Warn("bot: standing by", "error", err)
		}

		switch {
		case fault.CodeOf(err) == fault.StoreUnavailable:
			b.databaseIsAway()
		case err == nil && !served:
			b.databaseAway = time.Time{} // the serving process sends the alert
		}

		chat.Sleep(ctx, standBy)
	}

	return nil
}

// serve runs while this process is the serving one; it ends with ctx.
func (b *Bot) serve(ctx context.Context) error {
	b.databaseIsBack(ctx)

	var loops sync.WaitGroup
	for _, loop := range []func(context.Context){
		b.publishCommands, b.pollUpdates, b.keepLiveMessages, b.keepNotices, b.sendAlerts, b.watch,
	} {
		loops.Go(func() { loop(ctx) })
	}

	// ctx also ends when the connection to PostgreSQL is lost. The outage begins now, not after the seconds that the loops
	// take to finish.
	<-ctx.Done()
	b.databaseIsAway()
	loops.Wait()
	return ctx.Err()
}

// every runs a function at each tick until ctx is done. When it fails it logs that it will wait.
func (b *Bot) every(ctx context.Context, tick time.Duration, what string, do func(context.Context) error) {
	for chat.Sleep(ctx, tick) {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			b.Log.Warn("bot: "+what, "error", err)
			chat.Sleep(ctx, firstPause)
		}
	}
}

// withGrace returns a context that outlives ctx by the grace period, so that requests in flight can finish.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		chat.Sleep(work, grace)
		cancel()
	})
	return work, func() {
		stop()
		cancel()
	}
}
