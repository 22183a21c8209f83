package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

const (
	pollEvery = 250 * time.Millisecond
	pingEvery = 15 * time.Second
	writeTime = 10 * time.Second // a client that takes longer than this to take some events is dropped
	eventPage = 200
)

// eventBody is one transition in the stream.
type eventBody struct {
	Workload string  `json:"workload" example:"delivery"`
	EntityID string  `json:"entity_id" example:"17"`
	OwnerID  *string `json:"owner_id" example:"3" doc:"Whose entity it is"`
	HistoryBody
}

func eventFrom(e store.StreamedEvent) eventBody {
	return eventBody{Workload: e.Workload, EntityID: e.EntityID, OwnerID: formatOptionalID(e.OwnerID), HistoryBody: historyFrom(e)}
}

type eventsInput struct {
	LastEventID string `header:"Last-Event-ID" example:"812-90" doc:"The id of the last event you have"`
	After       string `query:"last_event_id" example:"812-90" doc:"The same, for those who cannot send the header"`
}

func (s *server) registerEvents() {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[eventBody](), true, "")
	register(s, operation{
		id: "stream-events", method: http.MethodGet, path: "/v1/events", tag: "Events", access: forUsers, scope: store.ScopeRead, stream: true,
		summary: "Follow every transition that you may see, as it happens",
		description: "Server-Sent Events. Each has an `id` and JSON as its `data`. Come back with the last `id` and nothing is lost or repeated; " +
			"without one the stream begins now, and may repeat the last moment. A comment is sent every 15 seconds while nothing happens.",
		answers: &huma.Response{
			Description: "A stream; the schema is that of each event's data.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: schema}},
		},
	}, s.streamEvents)
}

func (s *server) streamEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	start, err := s.startOfStream(ctx, in)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		f := &follower{server: s, w: w, http: http.NewResponseController(w), authorization: r.Header.Get("Authorization"), cursor: start}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // for proxies that would collect the stream
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			f.follow(r.Context(), caller(hc.Context()))
		}
	}}, nil
}

// startOfStream gives the place after which a stream begins.
func (s *server) startOfStream(ctx context.Context, in *eventsInput) (store.Cursor, error) {
	field, text := "Last-Event-ID", in.LastEventID
	if text == "" {
		field, text = "last_event_id", in.After
	}
	if text == "" {
		return s.o.Store.EventsNow(ctx)
	}
	cursor, err := store.ParseCursor(text)
	if err != nil {
		return cursor, fault.New(fault.Validation, "this is not the id of an event").WithField(field)
	}
	return cursor, nil
}

// follower is one client of the stream. Each asks the record for itself, so that a slow one holds up nobody.
type follower struct {
	*server
	w             http.ResponseWriter
	http          *http.ResponseController
	authorization string // looked at again and again: who is blocked sees no more
	cursor        store.Cursor
}

// follow sends events until the client leaves, loses its access or the process ends. A client that comes back with its
// last id misses nothing, so whatever goes wrong ends the stream.
func (f *follower) follow(ctx context.Context, user store.User) {
	poll, ping := time.NewTicker(pollEvery), time.NewTicker(pingEvery)
	defer poll.Stop()
	defer ping.Stop()
	if f.send([]byte(": ready\n\n")) != nil {
		return
	}
	for {
		more, err := f.sendNew(ctx, &user)
		if err != nil {
			if ctx.Err() == nil {
				f.o.Log.Info("a stream of events ends", "request", noteOf(ctx).id, "error", err)
			}
			return
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-f.o.Stop:
			return
		case <-poll.C:
		case <-ping.C:
			if _, err := f.look(ctx); err != nil || f.send([]byte(": ping\n\n")) != nil {
				return
			}
		}
	}
}

// sendNew sends the events past the cursor, as far as one page holds them, and says whether there may be more.
func (f *follower) sendNew(ctx context.Context, user *store.User) (more bool, err error) {
	owner := user.ID
	if user.IsAdmin() {
		owner = 0
	}
	events, err := f.o.Store.EventsAfter(ctx, f.cursor, owner, eventPage)
	if err != nil || len(events) == 0 {
		return false, err
	}
	now, err := f.look(ctx)
	if err != nil {
		return false, err
	}
	if now.IsAdmin() != user.IsAdmin() { // these are not the events that the client may see now
		*user = now
		return true, nil
	}
	var text bytes.Buffer
	for _, event := range events {
		data, err := json.Marshal(eventFrom(event))
		if err != nil {
			return false, err
		}
		fmt.Fprintf(&text, "id: %s\ndata: %s\n\n", event.Cursor(), data)
		f.cursor = event.Cursor()
	}
	return len(events) == eventPage, f.send(text.Bytes())
}

// look checks that the client may still follow.
func (f *follower) look(ctx context.Context) (store.User, error) {
	who, err := f.authenticate(ctx, f.authorization)
	if err == nil {
		err = who.permit(operation{access: forUsers, scope: store.ScopeRead})
	}
	return who.user, err
}

func (f *follower) send(text []byte) error {
	if err := f.http.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := f.w.Write(text); err != nil {
		return err
	}
	return f.http.Flush()
}
