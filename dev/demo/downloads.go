package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
	downloadstore "stagecoach/internal/store/download"
	"stagecoach/starter/command/download"
	"stagecoach/starter/command/remote"
)

const libraryPatience = 10 * time.Minute // for the one download, on a busy machine too

// library is the demo of downloads: it downloads a torrent for a book through the API. The book is created with an
// Idempotency-Key, so that a later run finds it and continues what an earlier one left unfinished.
type library struct {
	stack *stack.Stack
	api   *client.Client
	over  bool
}

func newLibrary(s *stack.Stack) *library {
	return &library{stack: s, api: &client.Client{Base: s.Info.API, Token: s.Info.UserToken}}
}

// round implements demo. The first round shows everything.
func (d *library) round(ctx context.Context) ([]result, error) {
	if d.over {
		return nil, nil
	}

	d.over = true
	defer d.stack.Screen.Draw()

	b, err := client.Ask[shape.Book](
		ctx, d.api, keyed("/v1/books", map[string]any{"title": "Noise, a demonstration", "author": "Stagecoach"}),
	)
	if err != nil {
		return nil, err
	}

	job, err := d.ask(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	if job, err = d.watch(ctx, job); err != nil {
		return nil, err
	}

	r := result{
		job: "download " + job.ID, name: job.BookTitle, state: string(job.Status), took: job.UpdatedAt.Sub(job.CreatedAt),
		workflow: job.WorkflowID, earlier: job.Ended() && job.UpdatedAt.Before(d.stack.Began),
	}

	if job.Status == lifecycle.DownloadCompleted {
		r.took = job.CompletedAt.Sub(job.CreatedAt)
		r.problem, err = d.proof(ctx, job)
	} else {
		r.problem = fmt.Sprintf("it is not completed: see starter download show %s", job.ID)
	}
	return []result{r}, err
}

// ask returns the download that an earlier run has completed, or requests one.
func (d *library) ask(ctx context.Context, bookID string) (shape.Download, error) {
	done, err := client.Ask[shape.Page[shape.Download]](ctx, d.api, client.Call{
		Method: http.MethodGet, Path: "/v1/downloads",
		Query: url.Values{"book_id": {bookID}, "status": {string(lifecycle.DownloadCompleted)}},
	})
	if err != nil {
		return shape.Download{}, err
	}

	for _, job := range done.Items {
		if job.MediaType == downloadstore.MediaText {
			return job, nil
		}
	}

	wanted := client.Call{Method: http.MethodPost, Path: "/v1/downloads", Body: map[string]any{
		"send": true, "book_id": bookID, "media_type": downloadstore.MediaText, "source": "web seed", "source_url": d.stack.Torrents.Demo.URL,
	}}

	job, err := client.Ask[shape.Download](ctx, d.api, wanted)
	if err != nil || job.SourceURL == d.stack.Torrents.Demo.URL {
		return job, err
	}
	// An earlier run left it unfinished, and its web seed had another port.
	if _, err := client.Ask[shape.Download](ctx, d.api, client.Call{Method: http.MethodPost, Path: "/v1/downloads/" + job.ID + "/cancel"}); err != nil {
		return job, err
	}

	return client.Ask[shape.Download](ctx, d.api, wanted)
}

// watch shows the progress of a download until it has ended or the time is up, and returns its final state.
func (d *library) watch(ctx context.Context, job shape.Download) (shape.Download, error) {
	limited, stop := context.WithTimeout(ctx, libraryPatience)
	defer stop()

	var stage lifecycle.DownloadState
	last, _, err := remote.Follow(limited, d.api, "/v1/downloads/"+job.ID, demoEvery, func(now shape.Download) {
		earlier := now.Ended() && now.UpdatedAt.Before(d.stack.Began)
		if now.Status != stage && !earlier && (now.Ended() || !d.stack.Screen.Live) {
			d.stack.Screen.Draw()
			d.stack.Screen.Say("  %s", download.ChangeLine(now))
		} else if !now.Ended() {
			d.stack.Screen.Draw(download.ProgressLine(now))
		}
		stage = now.Status
	})

	switch {
	case ctx.Err() != nil:
		return last, ctx.Err()
	case limited.Err() != nil:
		return last, nil // the status shows that it has not ended
	default:
		return last, err
	}
}

// proof checks that the book is in the library folder and, soon, in the chat. It returns what is wrong; empty: nothing.
func (d *library) proof(ctx context.Context, job shape.Download) (problem string, err error) {
	b, err := client.Ask[shape.Book](ctx, d.api, client.Call{Method: http.MethodGet, Path: "/v1/books/" + job.BookID})
	if err != nil {
		return "", err
	}

	at := slices.IndexFunc(
		b.Media, func(m shape.Media) bool {
			return m.MediaType == job.MediaType && m.Status == downloadstore.MediaAvailable
		},
	)
	if b.State != downloadstore.BookLibrary || at < 0 {
		return "the book is not in the Library: see starter book show " + b.ID, nil
	}
	if shape.Value(job.ExternalJobID) != d.stack.Torrents.Demo.Hash() {
		return "", nil // the developer has downloaded another torrent for the book
	}

	name := filepath.Join(d.stack.Library, filepath.FromSlash(b.Media[at].Path))
	if _, hash, err := digest(name); err != nil || hash != d.stack.Torrents.Demo.SHA256 {
		return "the file is missing or has the wrong content: " + d.stack.Shown(name), nil
	}

	for deadline := time.Now().Add(libraryPatience); !d.inChat(); {
		if time.Now().After(deadline) {
			return "the book is not in the chat: see starter download show " + job.ID, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(demoEvery):
		}
	}
	return "", nil
}

// inChat reports whether the demo user has received the book.
func (d *library) inChat() bool {
	return slices.ContainsFunc(d.stack.Telegram.Chat(stack.DemoUser).Messages, func(m telegramsim.Message) bool {
		return m.Document != nil && m.Document.SHA256 == d.stack.Torrents.Demo.SHA256
	})
}
