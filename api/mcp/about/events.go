package about

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
)

// settle is how long a wait continues after its first event, for events that arrive together with it.
const settle = 100 * time.Millisecond

type waiting struct {
	After       string        `json:"after,omitempty" jsonschema:"cursor of the last result; without one, from now on"`
	WaitSeconds *tool.Seconds `json:"wait_seconds,omitempty" jsonschema:"default 25"`
	Workload    workload      `json:"workload,omitempty" jsonschema:"only its events"`
	IDs         []string      `json:"ids,omitempty" jsonschema:"only events of these"`
	Limit       tool.Limit    `json:"limit,omitempty" jsonschema:"default 50"`
}

type happened struct {
	Events []event `json:"events"`
	Cursor string  `json:"cursor" jsonschema:"pass it as after next time to miss nothing"`
}

type event struct {
	Workload string    `json:"workload"`
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	From     string    `json:"from,omitempty"`
	To       string    `json:"to,omitempty"`
	ActorID  string    `json:"actor_id,omitempty" jsonschema:"absent: the system"`
	At       time.Time `json:"at"`
	Others   remark    `json:"written_by_others,omitzero"`
}

type remark struct {
	Comment tool.Text `json:"comment,omitempty"`
}

func wait() tool.Tool {
	return tool.New(tool.About{
		Name: "events_wait", Scopes: []account.Scope{account.ScopeRead}, Reads: true,
		Description: "Waits for events visible to you and returns them. CURSOR_GONE: start without after.",
	}, func(ctx context.Context, c *tool.Call, in waiting) (answer tool.Answer[happened], err error) {
		seconds := tool.Seconds(tool.MaxWait)
		if in.WaitSeconds != nil {
			seconds = *in.WaitSeconds
		}
		if in.Limit == 0 {
			in.Limit = 50
		}

		seen, err := follow(ctx, c, in, time.Duration(seconds)*time.Second)
		return tool.Answer[happened]{Value: seen, Summary: fmt.Sprintf("%d events.", len(seen.Events))}, err
	})
}

// follow reads the API's event stream until there is something to return, or the time is up.
func follow(ctx context.Context, c *tool.Call, in waiting, patience time.Duration) (seen happened, err error) {
	seen = happened{Events: []event{}, Cursor: in.After}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	query := url.Values{}
	if in.After != "" {
		query.Set("last_event_id", in.After)
	}

	stream, err := tool.Open(ctx, c, "/v1/events", query)
	if err != nil {
		return seen, err
	}
	defer stream.Close()

	blocks := make(chan block)
	go readBlocks(ctx, stream, blocks)
	over := time.NewTimer(max(patience, settle))
	defer over.Stop()

	for late := false; ; {
		select {
		case <-over.C:
			if late = true; seen.Cursor != "" { // without a cursor the next wait would miss what happens until then
				return seen, nil
			}
		case <-ctx.Done():
			return seen, ctx.Err()
		case b, open := <-blocks:
			if !open {
				return seen, nil // the stream ended: the cursor is where to continue
			}

			if e := b.event; e != nil && (in.Workload == "" || e.Workload == string(in.Workload)) &&
				(len(in.IDs) == 0 || slices.Contains(in.IDs, e.EntityID)) {
				seen.Events = append(seen.Events, shown(*e))
			}

			seen.Cursor = b.id
			switch {
			case late, len(seen.Events) >= int(in.Limit):
				return seen, nil
			case len(seen.Events) == 1:
				over.Reset(settle)
			}
		}
	}
}

func shown(e shape.Event) event {
	return event{
		Workload: e.Workload, ID: e.EntityID, Type: e.Type, From: e.From, To: e.To,
		ActorID: shape.Value(e.ActorID),
		At:      e.CreatedAt, Others: remark{tool.Text(e.Comment)},
	}
}

// block is a part of the stream: a cursor, and the event there; nil: none.
type block struct {
	id    string
	event *shape.Event
}

// readBlocks reads a stream until it ends.
func readBlocks(ctx context.Context, stream io.Reader, blocks chan<- block) {
	defer close(blocks)
	var b block
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)

	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "id":
			b.id = value
		case name == "data":
			var e shape.Event
			if json.Unmarshal([]byte(value), &e) == nil {
				b.event = &e
			}
		case lines.Text() == "" && b.id != "":
			select {
			case blocks <- b:
			case <-ctx.Done():
				return
			}
			b = block{}
		}
	}
}
