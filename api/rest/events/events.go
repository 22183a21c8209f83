package events

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/feed"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

const (
	pingEvery = 15 * time.Second
	writeTime = 10 * time.Second // how long a client may take to receive some events; a slower one is dropped
)

// NewFeed makes the feed of all streams of a process. The caller runs it.
func NewFeed(o feed.Options) *feed.Feed {
	o.Permit = func(h account.Holder) error {
		return server.Principal{
			User: h.User, Token: h.Token,
		}.Permit(server.Operation{Access: server.ForUsers, Scope: account.ScopeRead})
	}
	o.Render = func(e core.StreamedEvent) ([]byte, error) {
		data, err := json.Marshal(e.Shown())
		return fmt.Appendf(nil, "id: %s\ndata: %s\n\n", e.Cursor(), data), err
	}
	return feed.New(o)
}

type eventsInput struct {
	token string // of the caller, whose access is checked again and again

	LastEventID string `header:"Last-Event-ID" maxLength:"100" example:"812-90" doc:"The id of the last event you have"`
	After       string `query:"last_event_id" maxLength:"100" example:"812-90" doc:"The same, for those who cannot send the header"`
}

// Resolve implements huma.Resolver.
func (in *eventsInput) Resolve(ctx huma.Context) []error {
	in.token = server.BearerToken(ctx.Header("Authorization"))
	return nil
}

// handlers answer the operations of the stream of events.
type handlers struct {
	*server.Server
	feed *feed.Feed
}

// Register adds the operations of the stream of events to an API.
func Register(s *server.Server, events *feed.Feed) {
	h := &handlers{s, events}
	group := server.Group{Server: s, Tag: "Events", Access: server.ForUsers, Scope: account.ScopeRead}

	schema := server.SchemaOf[shape.Event](s)
	server.RegisterRaw(group, server.Operation{
		Id: "stream-events", Route: "GET /v1/events", Stream: true,
		Summary: "Follow every transition that you may see, as it happens",
		Description: "Server-Sent Events. Each has an `id` and JSON as its `data`. Come back with the last `id` and nothing is lost or repeated; " +
			"without one the stream begins now, and may repeat the last moment. While nothing happens that you may see, a comment is sent every " +
			"15 seconds, with an `id` that has moved on: a block without `data` is no event. `CURSOR_GONE`: what followed your id is deleted, " +
			"or is more than can be caught up with; `details.oldest` is the id to begin with, after you have read what you need from the lists.",
		Faults: []fault.Code{fault.CursorGone, fault.QuotaExceeded, fault.StreamsFull},
		Answers: &huma.Response{
			Description: "A stream; the schema is that of each event's data.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: schema}},
		},
	}, h.streamEvents)
}

func (h *handlers) streamEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	from, err := startOfStream(in)
	if err != nil {
		return nil, err
	}

	follower, err := h.feed.Follow(ctx, server.Caller(ctx), in.token, from)
	if err != nil {
		return nil, err
	}

	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer follower.Leave()
		r, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // for proxies that would collect the stream
		w.WriteHeader(http.StatusOK)
		if r.Method == http.MethodHead {
			return
		}

		out := stream{w: w, http: http.NewResponseController(w)}
		if err := out.follow(r.Context(), follower); r.Context().Err() == nil {
			h.Log.Info("a stream of events ends", "request", server.RequestID(r.Context()), "error", err)
		}
	}}, nil
}

// startOfStream gives the place after which a stream begins; nil: now.
func startOfStream(in *eventsInput) (*core.Cursor, error) {
	field, text := "Last-Event-ID", in.LastEventID
	if text == "" {
		field, text = "last_event_id", in.After
	}

	if text == "" {
		return nil, nil
	}

	cursor, err := core.ParseCursor(text)
	if err != nil {
		return nil, fault.Invalid(field, "this is not the id of an event")
	}
	return &cursor, nil
}

// stream is what a client reads.
type stream struct {
	w    http.ResponseWriter
	http *http.ResponseController
}

// follow sends events until the client leaves, loses its access or the process ends; the error says which. Any failure
// ends the stream: a client that comes back with its last id misses nothing.
func (out stream) follow(ctx context.Context, follower *feed.Follower) error {
	if err := out.place("ready", follower.Cursor()); err != nil {
		return err
	}

	for {
		text, err := follower.Next(ctx, pingEvery)
		if err != nil {
			return err
		}

		if len(text) == 0 {
			err = out.place("ping", follower.Cursor())
		} else {
			err = out.send(text)
		}

		if err != nil {
			return err
		}
	}
}

// place sends a comment, and the id that a client is to come back with. A block without data is no event.
func (out stream) place(comment string, cursor core.Cursor) error {
	return out.send(fmt.Appendf(nil, ": %s\nid: %s\n\n", comment, cursor))
}

func (out stream) send(text []byte) error {
	if err := out.http.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := out.w.Write(text); err != nil {
		return err
	}
	return out.http.Flush()
}
