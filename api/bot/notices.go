package bot

import (
	"context"
	"maps"
	"slices"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

const (
	noticeTick     = 500 * time.Millisecond
	noticesPerTick = 50
	eventsPerTick  = 500
)

// keepNotices notifies people of changes until ctx is done. Each notification is planned once, in one database
// transaction with the event or with the cursor that moves past it. It is marked before it is sent, so that a
// notification with an unknown outcome is never sent again, not even after a crash.
func (b *Bot) keepNotices(ctx context.Context) {
	b.every(ctx, noticeTick, "sending notifications failed", func(ctx context.Context) error {
		if b.pace.silent() {
			return nil
		}
		if err := b.planNotices(ctx); err != nil {
			return err
		}
		return b.sendNotices(ctx)
	})
}

// planNotices plans the notifications of new task events. Those of other workloads are planned together with the event.
func (b *Bot) planNotices(ctx context.Context) error {
	for {
		cursor, err := b.store.Notices.Cursor(ctx)
		if err != nil {
			return err
		}

		events, err := b.store.Notices.EventsAfter(ctx, cursor, eventsPerTick)
		if err != nil {
			return err
		}

		err = b.store.Notices.Plan(ctx, cursor, events, b.o.GatherNotices)
		if err != nil || len(events) < eventsPerTick {
			return err
		}
	}
}

// sendNotices sends the notifications that are due in chats whose turn has come.
func (b *Bot) sendNotices(ctx context.Context) error {
	due, err := b.store.Notices.Due(ctx, slices.Collect(maps.Keys(b.notices)), noticesPerTick)
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

// notify sends one notification, unless it is not yet the chat's turn or the person may no longer see it.
func (b *Bot) notify(ctx context.Context, row notice.Notice) error {
	viewer, err := b.store.Accounts.UserByID(ctx, row.UserID)
	if err != nil {
		return err
	}

	draw, err := b.notices[row.Workload](ctx, viewer, row)
	problem := fault.As(err)
	unreachable := viewer.TelegramID == nil || viewer.Status != account.UserActive
	switch {
	case problem != nil && !problem.Retryable, err == nil && unreachable:
		return b.store.Notices.Save(ctx, row, notice.NoticeLost, 0)
	case err != nil:
		return err
	case !b.pace.turn(*viewer.TelegramID):
		return nil
	}

	if err := b.pace.limiter.Wait(ctx); err != nil {
		return err
	}

	events, err := b.store.Notices.Take(ctx, &row)
	if err != nil || len(row.Seqs) == 0 {
		return err
	}

	_, err = b.Send(ctx, *viewer.TelegramID, draw(ctx, row, events))
	return b.settleNotice(ctx, *viewer.TelegramID, row, err)
}

// settleNotice records the outcome of sending a notice.
func (b *Bot) settleNotice(ctx context.Context, person int64, row notice.Notice, err error) error {
	state, wait := noticeAfter(err)
	if state != notice.NoticeSent {
		b.Log.Info(
			"bot: notification", "user", b.Pseudonym(person), "workload", row.Workload, "entity", row.EntityID,
			"state", state, "wait", wait, "error", err,
		)
	}

	b.pace.hold(wait)
	return core.RetryWhileUnavailable(ctx, func() error { return b.store.Notices.Save(ctx, row, state, wait) })
}

// noticeAfter returns the state of a notification after the request's outcome.
func noticeAfter(err error) (state string, wait time.Duration) {
	switch outcome, wait := chat.OutcomeOf(err); outcome {
	case chat.Done:
		return notice.NoticeSent, 0
	case chat.Later:
		return notice.NoticeDue, wait
	case chat.Unknown:
		return notice.NoticeUnknown, 0
	default:
		return notice.NoticeLost, 0
	}
}
