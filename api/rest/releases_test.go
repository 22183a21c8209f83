package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim/torznabsim"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/torznab"
)

// indexersStub finds two releases, and has one failing indexer.
type indexersStub struct{}

func (indexersStub) Search(_ context.Context, words, medium string) torznab.Found {
	return torznab.Found{
		Releases: []torznab.Release{
			{
				Title: words + ", " + medium, Indexer: "Books", SourceURL: magnet, Size: 1000, Seeders: new(3),
				Infohash: strings.Repeat("ab", 20), Published: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC),
			},
			{Title: "little known", Indexer: "Books", SourceURL: "http://prowlarr:9696/1/download?apikey=&link=x"},
		},
		Failed: []torznab.Failure{{Indexer: "jackett:9117", Code: fault.SourceUnavailable}},
	}
}

// TestReleases searches, and starts a download of a result.
func TestReleases(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	found := w.send(w.adaToken, "GET", "/v1/releases?q=wheels&media_type=audio", nil).ok(http.StatusOK).body
	items := found["items"].([]any)
	first, second := items[0].(map[string]any), items[1].(map[string]any)
	if first["title"] != "wheels, audio" || first["seeders"] != 3. || first["size"] != 1000. ||
		first["published_at"] != "2026-02-01T12:00:00Z" || second["seeders"] != nil || second["published_at"] != nil || second["infohash"] != "" {
		t.Errorf("%v", items)
	}
	if failed := found["failed"].([]any)[0].(map[string]any); failed["indexer"] != "jackett:9117" || failed["code"] != string(fault.SourceUnavailable) {
		t.Errorf("%v", found["failed"])
	}

	sources := []any{}
	for _, one := range items {
		release := one.(map[string]any)
		sources = append(sources, map[string]any{
			"source_url": release["source_url"], "title": release["title"], "indexer": release["indexer"], "infohash": release["infohash"],
		})
	}
	w.send(w.adaToken, "POST", "/v1/downloads", map[string]any{
		"book_id": w.book("Wheels"), "media_type": "audio", "source_url": first["source_url"], "source": first["indexer"], "sources": sources,
	}).ok(http.StatusCreated)

	for query, field := range map[string]string{
		"media_type=text": "q", "q=&media_type=text": "q", "q=+&media_type=text": "q", "q=a%0Ab&media_type=text": "q",
		"q=" + strings.Repeat("a", 201) + "&media_type=text": "q", "q=a": "media_type", "q=a&media_type=film": "media_type",
	} {
		w.send(w.adaToken, "GET", "/v1/releases?"+query, nil).refused(unprocessable, fault.Validation, field)
	}
}

// TestSearchesAreBounded refuses a user who searches too often, together with the user's agents, and nobody else.
// Searches need indexers and qBittorrent.
func TestSearchesAreBounded(t *testing.T) {
	t.Parallel()
	searching := &downloads.Service{Indexers: indexersStub{}, Searches: allowance.NewSearches()}
	ada, owner := account.User{ID: 1}, int64(1)
	var err error
	searched := 0
	for range 100 {
		if _, err = searching.Search(t.Context(), ada, "a", "text", 0); err == nil {
			searched++
		}
	}
	if refusal := fault.As(err); refusal == nil || refusal.Code != fault.RateLimited || refusal.RetryAfter <= 0 || searched < 10 {
		t.Errorf("%d searches, and then %v", searched, err)
	}
	if _, err := searching.Search(t.Context(), account.User{ID: 2, OwnerID: &owner}, "a", "text", 0); fault.CodeOf(err) != fault.RateLimited {
		t.Errorf("an agent: %v", err)
	}
	if _, err := searching.Search(t.Context(), account.User{ID: 3}, "a", "text", 0); err != nil {
		t.Errorf("another user: %v", err)
	}

	for _, off := range []*downloads.Service{{}, {Off: true, Indexers: indexersStub{}}} {
		if _, err := off.Search(t.Context(), ada, "a", "text", 0); fault.CodeOf(err) != fault.ProviderUnavailable {
			t.Errorf("switched off: %v", err)
		}
	}
}

// TestKeyIsNotShown searches with an indexer that refuses and fails: neither the response nor the log has its key.
func TestKeyIsNotShown(t *testing.T) {
	t.Parallel()
	prowlarr, err := torznabsim.New(torznabsim.Options{Key: "planted-key", Releases: []torznabsim.Release{{Title: "wheels", Torrent: "http://127.0.0.1:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(prowlarr)
	t.Cleanup(server.Close)
	w := newRig(t)
	w.downloads.Indexers = torznab.New(torznab.Options{Indexers: []torznab.Indexer{
		{URL: server.URL + "/1/api", Key: "planted-key"}, {URL: server.URL + "/2/api", Key: "planted-wrong"}, {URL: "http://127.0.0.1:1", Key: "planted-away"},
	}})

	answer := w.send(w.adaToken, "GET", "/v1/releases?q=wheels&media_type=text", nil).ok(http.StatusOK)
	if len(answer.body["items"].([]any)) != 1 || len(answer.body["failed"].([]any)) != 2 {
		t.Errorf("%v", answer.body)
	}
	if strings.Contains(answer.raw+w.log.String(), "planted") {
		t.Errorf("a key is in %s or in the log", answer.raw)
	}
}

// TestSearchesInTasksAreBounded refuses a user who searches in tasks while two such searches run. Lists without
// words are not limited.
func TestSearchesInTasksAreBounded(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.tasks.Searches = allowance.NewTaskSearches()
	running := w.tasks.Searches.Hold(w.ada)
	if err := running.Take(t.Context(), 2); err != nil {
		t.Fatal(err)
	}

	w.send(w.adaToken, "GET", "/v1/tasks?q=notes", nil).refused(http.StatusTooManyRequests, fault.RateLimited, "")
	w.send(w.adaToken, "GET", "/v1/tasks", nil).ok(http.StatusOK)
	w.send(w.bobToken, "GET", "/v1/tasks?q=notes", nil).ok(http.StatusOK)
	running.Release()
	w.send(w.adaToken, "GET", "/v1/tasks?q=notes", nil).ok(http.StatusOK)
}
