package chat

import (
	"context"
	"time"
)

// Place is the place of a request among those of other chats. What a request waits for is waited for by its own chat
// alone.
type Place struct {
	// Yield runs something that waits, while other chats use the place. It must not be called within itself.
	Yield func(wait func())
	// Hurry is closed when the request must not wait any longer: no new updates can be fetched before it has ended.
	Hurry <-chan struct{}
	// Elsewhere runs something about another chat, which the request does not wait for.
	Elsewhere func(do func(context.Context))
}

type placeKey struct{}

// WithPlace gives the requests below ctx a place.
func WithPlace(ctx context.Context, place Place) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

// PlaceOf returns the place of a request. What has none, such as a live message, just waits.
func PlaceOf(ctx context.Context) Place {
	if place, ok := ctx.Value(placeKey{}).(Place); ok {
		return place
	}
	return Place{
		Yield:     func(wait func()) { wait() },
		Elsewhere: func(do func(context.Context)) { do(ctx) },
	}
}

// Pause waits for d while other chats work; false when ctx ended before, or the request must hurry.
func (p Place) Pause(ctx context.Context, d time.Duration) (waited bool) {
	p.Yield(func() {
		select {
		case <-time.After(d):
			waited = true
		case <-ctx.Done():
		case <-p.Hurry:
		}
	})
	return waited
}
