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
	writeTime = 10 * time.Second // write deadline; a slower client is dropped
)

// NewFeed returns the feed behind all streams of a process. The caller runs it.
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
	token string // the caller's, which is checked again periodically

	LastEventID string `header:"Last-Event-ID" maxLength:"100" example:"812-90" doc:"ID of the last event that you received"`
	After       string `query:"last_event_id" maxLength:"100" example:"812-90" doc:"The same, for clients that cannot send the header"`
}

// Resolve implements huma.Resolver.
func (in *eventsInput) Resolve(ctx huma.Context) []error {
	in.token = server.BearerToken(ctx.Header("Authorization"))
	return nil
}

// handlers implement the operations on the event stream.
type handlers struct {
	*server.Server
	feed *feed.Feed
}

// Register adds the operations on the event stream to an API.
func Register(s *server.Server, events *feed.Feed) {
	h := &handlers{s, events}
	group := server.Group{Server: s, Tag: "Events", Access: server.ForUsers, Scope: account.ScopeRead}

	schema := server.SchemaOf[shape.Event](s)
	server.RegisterRaw(group, server.Operation{
		Id: "stream-events", Route: "GET /v1/events", Stream: true,
		Summary: "Stream every transition visible to you as it happens",
		Description: "Server-Sent Events. Each event has an `id` and JSON `data`. Reconnect with the last `id` and nothing is lost or repeated; " +
			"without one the stream begins now and may repeat the most recent events. While nothing visible to you happens, a comment is sent every " +
			"15 seconds; once the position has advanced, it is an event `place` with an `id` and no `data`, which also comes first. `CURSOR_GONE`: the events after your id are deleted " +
			"or too many to replay; read what you need from the lists, then continue from `details.oldest`.",
		Faults: []fault.Code{fault.CursorGone, fault.QuotaExceeded, fault.StreamsFull},
		Answers: &huma.Response{
			Description: "Event stream; the schema describes each event's data.",
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
		w.Header().Set("X-Accel-Buffering", "no") // for proxies that would buffer the stream
		w.WriteHeader(http.StatusOK)
		if r.Method == http.MethodHead {
			return
		}

		out := stream{w: w, http: http.NewResponseController(w)}
		if err := out.follow(r.Context(), follower); r.Context().Err() == nil {
			h.Log.Info("event stream ended", "request", server.RequestID(r.Context()), "error", err)
		}
	}}, nil
}

// startOfStream returns the cursor after which a stream begins; nil: now.
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

// stream is the client's side of a stream.
type stream struct {
	w    http.ResponseWriter
	http *http.ResponseController
}

// follow sends events until the client disconnects, loses its access or the process ends; the error says which. Any
// failure ends the stream: a client that reconnects with its last id misses nothing.
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

// place sends a comment, and the id with which a client is to reconnect. Some clients only accept an id together with
// data, and would lose the following events if they were cut off before the first one; an event with another name does
// not reach message handlers.
func (out stream) place(comment string, cursor core.Cursor) error {
	return out.send(fmt.Appendf(nil, ": %s\nevent: place\nid: %s\ndata:\n\n", comment, cursor))
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
