package feed

import (
	"context"
	"time"

	"stagecoach/internal/store/core"
)

// wakeEvery is the polling interval for events that this process has not read: those from before its start.
const wakeEvery = 2 * time.Second

// keepWebhooks wakes the webhooks waiting for the events just read, until ctx ends. All processes read the events; the
// record's position lets one of them wake for each page. If it was killed between writing and signalling, the counting
// process signals.
func (f *Feed) keepWebhooks(ctx context.Context) {
	if f.o.WakeWebhook == nil {
		return
	}

	ticker := time.NewTicker(wakeEvery)
	defer ticker.Stop()

	for {
		if err := f.wakeWebhooks(ctx); err != nil && ctx.Err() == nil {
			f.o.Log.Warn("webhooks not woken, will retry", "error", err)
		}

		select {
		case <-ctx.Done():
			return
		case <-f.batched:
		case <-ticker.C:
		}
	}
}

// wakeWebhooks wakes the webhooks for all events up to the present.
func (f *Feed) wakeWebhooks(ctx context.Context) error {
	for {
		from, err := f.o.Webhooks.WakeCursor(ctx)
		if err != nil {
			return err
		}

		events, err := f.eventsAfter(ctx, from)
		if err != nil || len(events) == 0 {
			return err
		}

		woken, _, err := f.o.Webhooks.Wake(ctx, from, events)
		if err != nil {
			return err
		}

		for _, id := range woken {
			f.o.WakeWebhook(ctx, id)
		}
	}
}

// eventsAfter returns the events after a position: from the window if it begins there, otherwise from the record.
func (f *Feed) eventsAfter(ctx context.Context, from core.Cursor) ([]core.StreamedEvent, error) {
	f.mu.Lock()
	start, through, begun := f.start, f.through(), f.begun
	var events []core.StreamedEvent
	for _, b := range f.batches {
		if start == from {
			for _, one := range b.events {
				events = append(events, one.StreamedEvent)
			}
			break
		}
		start = b.through
	}

	f.mu.Unlock()

	if len(events) > 0 || begun && !from.Before(through) {
		return events, nil
	}
	return f.o.Events.EventsAfter(ctx, from, page)
}
