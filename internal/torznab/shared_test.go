package torznab_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/internal/fault"
	"stagecoach/internal/torznab"
)

// TestEqualSearchesAskOnce shares one answer among equal searches, concurrent and soon after. The first caller may
// leave.
func TestEqualSearchesAskOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	arrived, release := make(chan bool, 10), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		arrived <- true
		<-release
		_, _ = fmt.Fprint(w, rss(`<item><title>`+r.URL.Query().Get("q")+`</title><link>https://x.example/1</link></item>`))
	}))
	t.Cleanup(server.Close)
	client := torznab.New(torznab.Options{Indexers: []torznab.Indexer{{URL: server.URL, Key: key}}, Timeout: time.Minute})

	leaving, leave := context.WithCancel(t.Context())
	first, second := make(chan torznab.Found), make(chan torznab.Found)
	go func() { first <- client.Search(leaving, "war", "text") }()
	<-arrived
	go func() { second <- client.Search(t.Context(), "war", "text") }()
	leave()
	if found := <-first; len(found.Failed) != 1 || len(found.Releases) > 0 {
		t.Errorf("who has left: %+v", found)
	}
	close(release)
	for _, found := range []torznab.Found{<-second, client.Search(t.Context(), "war", "text")} {
		if len(found.Releases) != 1 || found.Releases[0].Title != "war" || len(found.Failed) > 0 {
			t.Errorf("%+v", found)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}

	for _, other := range [][2]string{{"war", "audio"}, {"peace", "text"}} {
		if found := client.Search(t.Context(), other[0], other[1]); len(found.Releases) != 1 || found.Releases[0].Title != other[0] {
			t.Errorf("%+v", found)
		}
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// TestADeadIndexerDelaysFew reports a silent indexer as failed without querying it, and queries the other one.
func TestADeadIndexerDelaysFew(t *testing.T) {
	t.Parallel()
	dead, one := prowlarr(t)
	_, other := prowlarr(t)
	dead.AddFault(sim.Fault{Kind: "cut", AfterBytes: 100})
	client := torznab.New(torznab.Options{Indexers: []torznab.Indexer{one, other}, Timeout: time.Minute})
	for n := range 9 {
		before := len(dead.Requests())
		found := client.Search(t.Context(), fmt.Sprintf("war %*s", n+1, ""), "text")
		if len(found.Releases) != 2 || len(found.Failed) != 1 || found.Failed[0] != (torznab.Failure{Indexer: one.Name(), Code: fault.SourceUnavailable}) {
			t.Errorf("%+v", found)
		}
		if len(dead.Requests()) == before {
			return
		}
	}
	t.Error("it is asked by each search")
}
