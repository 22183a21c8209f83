package demo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/delivery"
	"stagecoach/starter/terminal"
)

const (
	demoFile = "demo-64MiB.bin"
	demoSize = 64 << 20

	// dropPatience is how long a dropped file may be unknown to the API, or the API unavailable, before that is a failure.
	dropPatience = time.Minute
)

// dropFolder is the demo of deliveries: it delivers every file in the simulated Yandex's folder to the demo user's
// chat, once for each content. The Idempotency-Key is derived from path, size and modification time, so the service
// recognizes what an earlier run has delivered.
type dropFolder struct {
	stack  *stack.Stack
	api    *client.Client
	folder *watchedFolder
	verify bool // check each file in the chat

	asked  map[drop]bool          // requested, or refused for good
	tried  map[drop]time.Time     // since when requests for it have failed
	live   map[string]*inProgress // by delivery id
	seenAt time.Time              // the API's last answer about them
}

// inProgress is a delivery that has not ended.
type inProgress struct {
	drop  drop
	last  shape.Delivery
	speed delivery.Speedometer
}

func newDropFolder(s *stack.Stack, verify bool) *dropFolder {
	return &dropFolder{
		stack: s, verify: verify, folder: newWatchedFolder(s.DropFolder()),
		api:   &client.Client{Base: s.Info.API, Token: s.Info.UserToken},
		asked: map[drop]bool{}, tried: map[drop]time.Time{}, live: map[string]*inProgress{},
	}
}

// round implements demo.
func (f *dropFolder) round(ctx context.Context) ([]result, error) {
	if len(f.asked) == 0 {
		if err := makeDemoFile(f.stack.DropFolder()); err != nil {
			return nil, err
		}
	}
	defer f.stack.Screen.Draw()

	var results []result
	for {
		drops, changing, err := f.folder.look()
		if err != nil {
			return nil, err
		}

		drops = slices.DeleteFunc(drops, func(d drop) bool { return f.asked[d] })
		results = append(results, f.ask(ctx, drops)...)
		results = append(results, f.follow(ctx)...)
		if len(f.live) == 0 && len(f.tried) == 0 && !changing {
			return f.verified(results)
		}

		f.draw()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(demoEvery):
		}
	}
}

// ask requests deliveries, folder by folder. A request that fails temporarily is repeated in the next round.
func (f *dropFolder) ask(ctx context.Context, drops []drop) []result {
	var results []result
	byFolder := map[string][]drop{}
	for _, d := range drops {
		byFolder[path.Dir(d.path)] = append(byFolder[path.Dir(d.path)], d)
	}

	for folder, drops := range byFolder {
		listed := map[string]shape.File{}
		listErr := delivery.EachFile(ctx, f.api, folder, func(entry shape.File) bool {
			listed[entry.Path] = entry
			return false
		})

		for _, d := range drops {
			err := listErr
			if entry, known := listed[d.path]; err == nil && known && d.is(entry) {
				err = f.askFor(ctx, d, entry.FileID)
			} else if err == nil {
				err = errNotListed
			}
			if failed, ok := f.settle(d, err); ok {
				results = append(results, failed)
			}
		}
	}

	return results
}

// errNotListed means that the API does not list a file, or lists an older version: a listing may be a second old.
var errNotListed = errors.New("not in the listing of the shared folder")

func (f *dropFolder) askFor(ctx context.Context, d drop, fileID string) error {
	answer, _, err := f.api.Send(ctx, delivery.Call(fileID, f.key(d)))
	if err != nil {
		return err
	}

	job, err := client.Decode[shape.Delivery](answer)
	if err != nil {
		return err
	}

	f.seenAt = time.Now()
	f.live[job.ID] = &inProgress{drop: d, last: shape.Delivery{ID: job.ID}} // without a state: the first one is shown too
	return nil
}

// settle decides what the outcome of a request means: done, to be repeated, or a failure to show.
func (f *dropFolder) settle(d drop, err error) (failed result, isFailed bool) {
	since, again := f.tried[d]
	if err != nil && (errors.Is(err, errNotListed) || client.Passing(err)) && (!again || time.Since(since) < dropPatience) {
		if !again {
			f.tried[d] = time.Now()
		}
		return result{}, false
	}

	delete(f.tried, d)
	f.asked[d] = true
	if err == nil {
		return result{}, false
	}

	f.stack.Screen.Say("  not delivered  %s: %s", terminal.Printable(d.path), terminal.Printable(err.Error()))
	return result{job: "–", name: d.path, state: "REFUSED", problem: err.Error()}, true
}

// follow reads the deliveries that have not ended, and returns the results of those that have ended since.
func (f *dropFolder) follow(ctx context.Context) []result {
	missing := len(f.live)
	if missing == 0 {
		return nil
	}

	var results []result
	err := client.EachItem(ctx, f.api, "/v1/deliveries", url.Values{}, func(d shape.Delivery) (enough bool) {
		if r := f.live[d.ID]; r != nil {
			missing--
			f.update(r, d)
			if d.Ended() {
				delete(f.live, d.ID)
				results = append(results, f.resultOf(r, ""))
			}
		}
		return missing == 0
	})

	switch {
	case err == nil:
		f.seenAt = time.Now()
	case time.Since(f.seenAt) > dropPatience:
		for id, r := range f.live {
			delete(f.live, id)
			results = append(results, f.resultOf(r, err.Error()))
		}
	}

	return results
}

// update applies the current state of a delivery. It prints changes that the live lines do not keep on the screen.
func (f *dropFolder) update(r *inProgress, d shape.Delivery) {
	changed := d.State != r.last.State
	r.last = d
	earlier := d.Ended() && d.UpdatedAt.Before(f.stack.Began)
	if changed && !earlier && (d.Ended() || !f.stack.Screen.Live) {
		f.stack.Screen.Say("  %s", delivery.ChangeLine(d))
	}
}

func (f *dropFolder) resultOf(r *inProgress, problem string) result {
	d := r.last
	ended := result{
		job: "delivery " + d.ID, name: r.drop.path, state: string(d.State), took: d.UpdatedAt.Sub(d.CreatedAt),
		workflow: d.WorkflowID, earlier: d.UpdatedAt.Before(f.stack.Began), problem: problem,
	}

	if problem == "" && d.State != lifecycle.DeliveryDelivered {
		ended.problem = fmt.Sprintf(
			"it ended %s %s; change or touch the file to try it again", d.State, shape.Value(d.LastError),
		)
	}
	return ended
}

// draw shows the deliveries in progress, those with a worker first, and the files that are not requested yet.
func (f *dropFolder) draw() {
	const most = 8
	active := slices.SortedFunc(maps.Values(f.live), func(a, b *inProgress) int {
		return cmp.Or(
			cmp.Compare(a.waits(), b.waits()), a.last.CreatedAt.Compare(b.last.CreatedAt), cmp.Compare(a.last.ID, b.last.ID),
		)
	})

	var lines []string
	for _, r := range active {
		lines = append(lines, delivery.ProgressLine(r.last, r.speed.Measure(r.last)))
	}

	for _, d := range slices.SortedFunc(maps.Keys(f.tried), func(a, b drop) int { return cmp.Compare(a.path, b.path) }) {
		lines = append(lines, fmt.Sprintf("  %s  not listed yet", terminal.Shorten(terminal.Printable(d.path), 40)))
	}

	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("  and %d more", more))
	}

	f.stack.Screen.Draw(lines...)
}

// waits is 1 for a delivery that no worker has claimed yet.
func (r *inProgress) waits() int {
	if r.last.State == lifecycle.DeliveryQueued {
		return 1
	}
	return 0
}

// key returns the Idempotency-Key of a drop: the same version of a file is the same delivery for one record.
func (f *dropFolder) key(d drop) string {
	sum := sha256.Sum256(fmt.Append(
		nil, d.path, "\x00", d.size, "\x00", d.changed, "\x00", f.stack.RecordSince.UnixNano(),
	))
	return "dev-" + hex.EncodeToString(sum[:16])
}

// is reports whether the API lists this version of the file.
func (d drop) is(entry shape.File) bool {
	return entry.Kind == "file" && entry.Size == d.size && entry.ModifiedAt.Unix() == d.changed/int64(time.Second)
}
