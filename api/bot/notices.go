package bot

import (
	"context"
	"maps"
	"slices"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// noticeKind is how news of the entities of one workload is told: it finds what a notice is about, as the viewer may
// see it now, and gives what draws the news. An error that is no use to repeat: the viewer is not to be told any more.
type noticeKind func(ctx context.Context, viewer store.User, n store.Notice) (drawNews, error)

// drawNews draws events of an entity, the oldest first. By then the notice is taken: nothing may fail any more.
type drawNews func(ctx context.Context, n store.Notice, events []store.StreamedEvent) view

const (
	noticeTick     = 500 * time.Millisecond
	noticesPerTick = 50
	eventsPerTick  = 500
)

// keepNotices tells people of what happens to what is theirs until ctx ends. Who is to hear of what is planned once, in
// the record, with the event or with the place in the stream of events; a notice is marked before it is sent, so that
// one whose fate is unknown, after a crash too, is never sent again.
func (b *Bot) keepNotices(ctx context.Context) {
	adopted := false
	for sleep(ctx, noticeTick) {
		if b.pace.silent() {
			continue
		}

		var err error
		if !adopted {
			err = b.store.AdoptNotices(ctx)
			adopted = err == nil
		}

		if err == nil {
			err = b.planNotices(ctx)
		}

		if err == nil {
			err = b.sendNotices(ctx)
		}

		if err != nil && ctx.Err() == nil {
			b.log.Warn("bot: notices wait", "error", err)
			sleep(ctx, firstPause)
		}
	}
}

// planNotices plans notices of the tasks' events that nobody has looked at; other workloads' are planned with the
// event.
func (b *Bot) planNotices(ctx context.Context) error {
	for {
		cursor, err := b.store.NoticeCursor(ctx)
		if err != nil {
			return err
		}

		events, err := b.store.EventsAfter(ctx, cursor, eventsPerTick)
		if err != nil {
			return err
		}
		if err := b.store.PlanNotices(ctx, cursor, events, b.gatherNotices); err != nil || len(events) < eventsPerTick {
			return err
		}
	}
}

// sendNotices sends what is due, as far as the chats' turns have come.
func (b *Bot) sendNotices(ctx context.Context) error {
	due, err := b.store.DueNotices(ctx, slices.Collect(maps.Keys(b.notices)), noticesPerTick)
	if err != nil {
		return err
	}

	work, finished := withGrace(ctx)
	defer finished()

	for _, notice := range due {
		if ctx.Err() != nil || b.pace.silent() {
			return nil
		}
		if err := b.notify(work, notice); err != nil {
			return err
		}
	}

	return nil
}

// notify sends one notice, unless its time has not come or the person should not have it any more.
func (b *Bot) notify(ctx context.Context, notice store.Notice) error {
	viewer, err := b.store.UserByID(ctx, notice.UserID)
	if err != nil {
		return err
	}

	draw, err := b.notices[notice.Workload](ctx, viewer, notice)
	problem := fault.As(err)
	switch {
	case problem != nil && !problem.Retryable, err == nil && (viewer.TelegramID == nil || viewer.Status != store.UserActive):
		return b.store.SaveNotice(ctx, notice, store.NoticeLost, 0)
	case err != nil:
		return err
	case !b.pace.turn(*viewer.TelegramID):
		return nil
	}

	if err := b.pace.limiter.Wait(ctx); err != nil {
		return err
	}

	events, err := b.store.TakeNotice(ctx, &notice)
	if err != nil || len(notice.Seqs) == 0 {
		return err
	}

	_, err = b.send(ctx, *viewer.TelegramID, draw(ctx, notice, events))
	state, wait := noticeAfter(err)
	if state != store.NoticeSent {
		b.log.Info(
			"bot: notice", "user", who(*viewer.TelegramID), "workload", notice.Workload, "entity", notice.EntityID, "state",
			state, "wait", wait, "error", err,
		)
	}

	if wait >= longFlood {
		b.pace.beSilent(wait)
	}
	return store.RetryWhileUnavailable(ctx, func() error { return b.store.SaveNotice(ctx, notice, state, wait) })
}

// noticeAfter gives what has become of a notice by the outcome of the request.
func noticeAfter(err error) (state string, wait time.Duration) {
	switch outcome, wait := fateOf(err); outcome {
	case done:
		return store.NoticeSent, 0
	case later:
		return store.NoticeDue, wait
	case unknown:
		return store.NoticeUnknown, 0
	default:
		return store.NoticeLost, 0
	}
}
