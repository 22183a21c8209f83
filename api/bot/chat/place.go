package chat

import (
	"context"
	"time"
)

// Place is a request's slot among the chats that are handled concurrently. Only its own chat waits for what it waits
// for.
type Place struct {
	// Yield runs something that waits, and frees the slot for other chats meanwhile. It must not be nested.
	Yield func(wait func())
	// Elsewhere runs something that concerns another chat; the request does not wait for it.
	Elsewhere func(do func(context.Context))
}

type placeKey struct{}

// WithPlace attaches a place to ctx.
func WithPlace(ctx context.Context, place Place) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

// PlaceOf returns the place of a request. Without one, as in a live message, it simply waits.
func PlaceOf(ctx context.Context) Place {
	if place, ok := ctx.Value(placeKey{}).(Place); ok {
		return place
	}
	return Place{
		Yield:     func(wait func()) { wait() },
		Elsewhere: func(do func(context.Context)) { do(ctx) },
	}
}

// Pause waits for d while other chats are handled; false when ctx ended first.
func (p Place) Pause(ctx context.Context, d time.Duration) (waited bool) {
	p.Yield(func() { waited = Sleep(ctx, d) })
	return waited
}
