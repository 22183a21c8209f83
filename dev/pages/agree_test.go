package pages

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/parts"
	"stagecoach/api/shape"
	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
)

// ids are the ids of entities, by kind.
type ids map[string]string

// stir creates a new entity of a workload, as the user whose pages are tested, and changes it when told to.
type stir func(t *testing.T) (made ids, change func())

// stirs has one for each workload.
var stirs = map[string]stir{
	lifecycle.WorkloadDelivery: func(t *testing.T) (ids, func()) {
		made := deliver(t, "other.bin") // it continues by itself
		return ids{"delivery": made.ID}, func() { deliver(t, "small.txt") }
	},
	lifecycle.WorkloadTask: func(t *testing.T) (ids, func()) {
		room := send[shape.Workspace](t, "/v1/workspaces", map[string]any{"name": "A room that is watched"})
		made := send[shape.Task](t, "/v1/tasks", map[string]any{"workspace_id": room.ID, "title": "A task that is watched"})
		send[shape.Task](t, "/v1/tasks", map[string]any{
			"workspace_id": room.ID, "title": "A task that waits for it", "blocked_by": []string{made.ID},
		})
		return ids{"task": made.ID, "workspace": room.ID}, func() {
			send[shape.Task](t, "/v1/tasks/"+made.ID+"/claim", map[string]string{"comment": "I know this part"})
			send[shape.Task](t, "/v1/tasks/"+made.ID+"/status", map[string]string{"to": "DONE", "comment": "It is done"})
		}
	},
	lifecycle.WorkloadDownload: func(t *testing.T) (ids, func()) {
		address := seed(t, torrentsim.TorrentSpec{Name: "watched.epub", Size: 1 << 20, NoSeed: true})
		book := send[shape.Book](t, "/v1/books", map[string]string{"title": "A book that is watched"})
		made := send[shape.Download](t, "/v1/downloads", map[string]string{
			"book_id": book.ID, "media_type": "text", "source": "web", "source_url": address,
		})
		return ids{"download": made.ID}, func() { send[shape.Download](t, "/v1/downloads/"+made.ID+"/cancel", nil) }
	},
	"book": func(t *testing.T) (ids, func()) {
		made := send[shape.Book](t, "/v1/books", map[string]string{"title": "A book that somebody wants"})
		return ids{"book": made.ID}, func() {
			address := seed(t, torrentsim.TorrentSpec{Name: "wanted.epub", Size: 1 << 20, NoSeed: true})
			send[shape.Download](t, "/v1/downloads", map[string]string{
				"book_id": made.ID, "media_type": "audio", "source": "web", "source_url": address,
			})
			send[shape.Book](t, "/v1/books", map[string]string{"title": "Another book that somebody wants"})
		}
	},
	lifecycle.WorkloadTransaction: func(t *testing.T) (ids, func()) {
		hash := unlucky(t, "shy_watched")
		return ids{"transaction": hash}, func() {
			_, _ = client.Ask[shape.Transaction](context.WithoutCancel(t.Context()), root(), client.Call{ // it may be live
				Method: http.MethodPost, Path: "/v1/transactions/" + hash + "/retry",
			})
			deposit(t, stack.DemoUsername+" 500") // which is too little
		}
	},
	lifecycle.WebhookEvents: func(t *testing.T) (ids, func()) {
		id := watchedWebhook(t)
		return ids{"webhook": id}, func() {
			for _, state := range []string{lifecycle.WebhookActive, lifecycle.WebhookPaused} {
				patch(t, "/v1/webhooks/"+id, map[string]string{"state": state})
			}
		}
	},
}

// watchedWebhook creates a webhook, once: a user may only have a few. It is mostly paused, so that little is sent.
func watchedWebhook(t *testing.T) (id string) {
	t.Helper()
	theWebhook.Do(func() {
		made := send[shape.Webhook](t, "/v1/webhooks", map[string]any{"address": "https://hooks.example/", "workloads": []string{}})
		theWebhookID = made.ID
		patch(t, "/v1/webhooks/"+made.ID, map[string]string{"state": lifecycle.WebhookPaused})
	})
	return theWebhookID
}

var (
	theWebhook   sync.Once
	theWebhookID string
)

// patch changes something as the user whose pages are tested.
func patch(t *testing.T, path string, body any) {
	t.Helper()
	_, err := client.Ask[any](context.WithoutCancel(t.Context()), api(), client.Call{Method: http.MethodPatch, Path: path, Body: body})
	if err != nil {
		t.Fatalf("PATCH %s: %v", path, err)
	}
}

// send makes an API request as the user whose pages are tested.
func send[T any](t *testing.T, path string, body any) T {
	t.Helper()
	made, err := client.Ask[T](context.WithoutCancel(t.Context()), api(), client.Call{
		Method: http.MethodPost, Path: path, Body: body, IdempotencyKey: fmt.Sprint(t.Name(), time.Now().UnixNano()),
	})
	if err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
	return made
}

// deposit sends money to the wallet, and returns the transaction's hash.
func deposit(t *testing.T, comment string) (hash string) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"amount_nano": 500_000_000, "comment": comment})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, running.Info.StandIns.TonCenter+"/_/deposits", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	var made struct{ Hash string }
	if err := json.NewDecoder(response.Body).Decode(&made); err != nil {
		t.Fatal(err)
	}
	return made.Hash
}

// TestNightLivePagesAgreeWithAFreshLoad opens each live page, changes something in each of its workloads, and expects
// the open page to show what a fresh load shows. It logs how long the first change took, from the request for it.
func TestNightLivePagesAgreeWithAFreshLoad(t *testing.T) {
	night.Only(t)
	t.Parallel()
	user := pair{signedIn(t, running.Info.UserToken), signedIn(t, running.Info.UserToken)}
	admin := pair{signedIn(t, running.Info.AdminToken), signedIn(t, running.Info.AdminToken)}
	user.agrees("home", "/", lifecycle.Names())

	for _, part := range parts.Web() {
		for _, page := range part.Pages {
			if workloads := strings.Fields(page.Live); len(workloads) > 0 {
				if !user.agrees(page.Name, page.Route, workloads) && !admin.agrees(page.Name, page.Route, workloads) {
					t.Errorf("no page of %s is found", page.Route)
				}
			}
		}
	}
}

// pair is two tabs of one person: one stays open, the other reloads.
type pair struct{ open, fresh *browser }

// agrees compares one page, which may be named after what it shows; false: the person finds none.
func (p pair) agrees(name, route string, workloads []string) (found bool) {
	p.open.Helper()
	made, changes := ids{}, []func(){}
	for _, workload := range workloads {
		stir := stirs[workload]
		if stir == nil {
			p.open.Errorf("%s is live for %s, which this test cannot change", route, workload)
			return true
		}
		things, change := stir(p.open.T)
		maps.Copy(made, things)
		changes = append(changes, change)
	}

	path := p.open.opened(wildcard.ReplaceAllStringFunc(route, func(part string) string {
		return cmp.Or(made[strings.Trim(part, "{}")], made[name])
	}))
	if path == "" {
		return false
	}
	p.open.isLive()
	evaluate[int](p.open, watched)
	for _, change := range changes {
		change()
	}

	again := time.Now().Add(10 * time.Second)
	var open, fresh string
	took, agreed := -1, false
	defer func() {
		if !agreed {
			p.open.Logf("%s: the first change after %d ms (-1: none); the open page shows\n%s\na fresh one\n%s", path, took, open, fresh)
		}
	}()
	p.open.until(path+" shows what a fresh load shows", func() bool {
		before := evaluate[string](p.open, plain) // other tests change the same lists, while the fresh page loads too
		p.fresh.open(path)
		open, fresh = evaluate[string](p.open, plain), evaluate[string](p.fresh, plain)
		took = evaluate[int](p.open, `window.changed === undefined ? -1 : window.changed - window.began`)
		if agreed = (before == fresh || open == fresh) && took >= 0; agreed {
			return true
		}

		if time.Now().After(again) { // a change without an event, such as the load of a process
			again = time.Now().Add(10 * time.Second)
			_, change := stirs[workloads[0]](p.open.T)
			change()
		}
		time.Sleep(200 * time.Millisecond)
		return false
	})
	p.open.Logf("%-28s the first change is shown after %d ms", path, took)
	return true
}

// watched records when the page first changes.
const watched = `window.began = Date.now();
	new MutationObserver(() => { window.changed ??= Date.now(); })
		.observe(document.querySelector("main"), {subtree: true, childList: true, characterData: true, attributes: true});
	1`

// plain is what a page shows, without whitespace between its parts, times, ages, the state of the connection, the keys
// of forms, and the options of a form that keeps its selection. Attributes are sorted by name: a changed element gets a
// new one last.
const plain = `(() => {
	const main = document.querySelector("main").cloneNode(true);
	for (const one of main.querySelectorAll("time, [data-link], [data-age], input[name=key], [data-keep] option")) one.remove();
	for (const node of [...main.childNodes]) if (node.nodeType === Node.TEXT_NODE && !node.data.trim()) node.remove();
	for (const one of main.querySelectorAll("*")) {
		const all = [...one.attributes].sort((a, b) => a.name < b.name ? -1 : 1);
		for (const a of all) one.removeAttribute(a.name);
		for (const a of all) one.setAttribute(a.name, a.value);
	}
	return main.innerHTML.replace(/\s+/g, " ");
})()`

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// opened opens a page and returns its path, "" for one that is refused. Browsers report a refusal as an error.
func (b *browser) opened(path string) string {
	b.Helper()
	b.open(path)
	status := evaluate[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`)
	if status == http.StatusOK {
		return path
	}
	b.wantStatus(status)
	return ""
}
