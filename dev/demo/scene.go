package demo

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
	downloadstore "stagecoach/internal/store/download"
	"stagecoach/starter/command/delivery"
)

// How often each part of a scene does something, and how long its agent works on a task.
const (
	sceneTasks      = 20 * time.Second
	sceneDeliveries = 3 * time.Minute
	sceneDownloads  = 30 * time.Second
	scenePurchases  = 5 * time.Minute
	sceneWork       = 40 * time.Second
	sceneDeadline   = 3 // minutes that a task of the board may be IN_PROGRESS
	sceneReady      = 3 // tasks that wait for the agent
)

// scene keeps some activity going after the demo, so that the pages show a service at work: an agent works on a board
// with tasks in every status, a slow download progresses, and there is a delivery and a purchase now and then. It needs
// nothing but the API, and tolerates any part of the stack being unavailable for a while.
type scene struct {
	stack  *stack.Stack
	api    *client.Client // of the demo user
	agents []*agent       // of the team: the first one works, the others have left something behind
	space  string
	parts  sync.WaitGroup
}

// play plays the scene until ctx is done.
func (s *scene) play(ctx context.Context) {
	for every, part := range map[time.Duration]func(context.Context) error{
		sceneTasks: s.board, sceneDeliveries: s.deliver, sceneDownloads: s.download, scenePurchases: s.buy,
	} {
		s.repeat(ctx, every, part)
	}
	s.parts.Wait()
}

// repeat does a part now and then. A part that fails, for example because the API is unavailable, is retried the next
// time.
func (s *scene) repeat(ctx context.Context, every time.Duration, part func(context.Context) error) {
	s.parts.Go(func() {
		for {
			_ = part(ctx)
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
		}
	})
}

// boardTask is a task of the board that stays as it is.
type boardTask struct {
	title  string
	worker int // the agent that has claimed it; -1: none
	ends   lifecycle.TaskState
	why    string // empty: its deadline ends it
}

var boardTasks = []boardTask{
	{"Print the next chapter", 1, lifecycle.TaskBlocked, "the paper is out"},
	{"Count the books", 2, lifecycle.TaskStuck, ""},
	{"Paint the shelf red", -1, lifecycle.TaskCancelled, "blue is fine"},
}

// board creates the board initially, and makes sure that there is always something to do for the agent.
func (s *scene) board(ctx context.Context) error {
	if s.space == "" {
		if err := s.open(ctx); err != nil {
			return err
		}
		s.repeat(ctx, sceneTasks, s.agents[0].work)
	}

	waiting, err := client.Ask[shape.Page[shape.Task]](ctx, s.api, client.Call{
		Method: http.MethodGet, Path: "/v1/tasks",
		Query: map[string][]string{"workspace_id": {s.space}, "status": {string(lifecycle.TaskNew)}, "limit": {"10"}},
	})
	if err != nil || len(waiting.Items) >= sceneReady {
		return err
	}

	now := time.Now()
	_, _, err = s.api.Send(ctx, keyed("/v1/tasks/batch", map[string]any{"workspace_id": s.space, "tasks": []map[string]any{
		{"ref": "read", "title": "Read the returns of " + now.Format("15:04:05"), "priority": "high"},
		{"ref": "shelve", "title": "Shelve the returns of " + now.Format("15:04:05"), "blocked_by": []string{"read"}},
	}}))
	return err
}

// open creates the workspace, or finds the one of an earlier run, with the tasks that stay.
func (s *scene) open(ctx context.Context) error {
	space, err := client.Ask[shape.Workspace](ctx, s.api, keyed("/v1/workspaces", map[string]any{
		"name": "Reading room", "status_deadlines": map[string]float64{"IN_PROGRESS": sceneDeadline},
	}))
	if err != nil {
		return err
	}

	for _, a := range s.agents {
		if err := join(ctx, s.api, "/v1/workspaces/"+space.ID, a); err != nil {
			return err
		}
	}

	worker := s.agents[0]
	worker.workspace, worker.takes, worker.alone = space.ID, sceneWork, true
	for _, t := range boardTasks {
		if err := s.leave(ctx, space.ID, t); err != nil {
			return err
		}
	}

	s.space = space.ID
	return nil
}

// leave brings a task into its permanent status. A later run finds it there.
func (s *scene) leave(ctx context.Context, space string, t boardTask) error {
	made, err := client.Ask[shape.TaskBatch](ctx, s.api, keyed("/v1/tasks/batch", map[string]any{
		"workspace_id": space, "tasks": []map[string]any{{"ref": "it", "title": t.title}},
	}))
	if err != nil {
		return err
	}

	task := "/v1/tasks/" + made.Items[0].ID
	now, err := client.Ask[shape.Task](ctx, s.api, client.Call{Method: http.MethodGet, Path: task})
	if err != nil || now.Status != lifecycle.TaskNew {
		return err
	}
	who := s.api
	if t.worker >= 0 {
		who = &client.Client{Base: s.api.Base, Token: s.agents[t.worker].token}
		claim := client.Call{Method: http.MethodPost, Path: task + "/claim", Body: map[string]string{"comment": "I have time for this"}}
		if _, _, err := who.Send(ctx, claim); err != nil {
			return err
		}
	}

	if t.why == "" {
		return nil
	}
	change := map[string]string{"to": string(t.ends), "comment": t.why}
	_, _, err = who.Send(ctx, client.Call{Method: http.MethodPost, Path: task + "/status", Body: change})
	return err
}

// deliver sends the demo's file again.
func (s *scene) deliver(ctx context.Context) error {
	files, err := client.Ask[shape.Page[shape.File]](ctx, s.api, client.Call{Method: http.MethodGet, Path: "/v1/files"})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(files.Items, func(f shape.File) bool { return strings.HasSuffix(f.Path, demoFile) })
	if at < 0 {
		return nil
	}
	_, _, err = s.api.Send(ctx, delivery.Call(files.Items[at].FileID, fmt.Sprint("dev-scene-", time.Now().Unix())))
	return err
}

// download requests the first slow torrent whose book does not exist yet.
func (s *scene) download(ctx context.Context) error {
	for i, torrent := range s.stack.Torrents.Slow {
		b, err := client.Ask[shape.Book](ctx, s.api, keyed("/v1/books", map[string]any{
			"title": fmt.Sprintf("Slow reading, volume %d", i+1), "author": "Stagecoach",
		}))
		if err == nil { // the response to the key is the first one
			b, err = client.Ask[shape.Book](ctx, s.api, client.Call{Method: http.MethodGet, Path: "/v1/books/" + b.ID})
		}
		if err != nil {
			return err
		}
		if b.State == downloadstore.BookLibrary {
			continue
		}

		// Another request for the same book and medium returns the download in progress.
		_, _, err = s.api.Send(ctx, client.Call{Method: http.MethodPost, Path: "/v1/downloads", Body: map[string]string{
			"book_id": b.ID, "media_type": downloadstore.MediaText, "source": "web seed", "source_url": torrent.URL,
		}})
		if err == nil {
			s.slowDown(ctx, torrent.Name)
		}
		return err
	}
	return nil
}

// slowDown makes the simulator slow for a torrent, as soon as that exists. The real qBittorrent is slowed down by the
// web seed.
func (s *scene) slowDown(ctx context.Context, torrent string) {
	if s.stack.QBittorrent == nil {
		return
	}
	for range 50 {
		change := torrentsim.TorrentChange{Duration: &s.stack.Torrents.SlowTime}
		if ctx.Err() != nil || s.stack.QBittorrent.Change(torrent, change) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// buy has a customer pay for Stars.
func (s *scene) buy(_ context.Context) error {
	_, err := s.stack.Chain.Deposit(tonsim.Deposit{
		From: demoCustomers[0].address(), AmountNano: demoCustomers[0].nano, Comment: demoCustomers[0].comment,
	})
	return err
}
