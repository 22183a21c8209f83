package qbittorrent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	qbt "github.com/autobrr/go-qbittorrent"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
)

// realServer is the real qBittorrent, shared by the tests that need one; nil: it is not installed.
var realServer = sync.OnceValues(func() (*servers.QBittorrent, error) {
	dir, err := os.MkdirTemp("", "stagecoach-qbittorrent-")
	if err != nil {
		return nil, err
	}
	stops = append(stops, func() { os.RemoveAll(dir) })
	q, err := servers.StartQBittorrent(context.Background(), servers.QBittorrentOptions{Dir: dir})
	if err == nil {
		stops = append([]func(){func() { _ = q.Stop() }}, stops...)
	}
	return q, err
})

var stops []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range stops {
		stop()
	}
	os.Exit(code)
}

// options are those of a simulator's client.
func options(url string) Options {
	return Options{URL: url, Username: "admin", Password: "adminadmin", ActiveCategory: "active", DoneCategory: "done"}
}

// standIn serves a simulator.
func standIn(t *testing.T, o torrentsim.QBittorrentOptions) (*torrentsim.QBittorrent, string) {
	t.Helper()
	q, err := torrentsim.NewQBittorrent(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(q)
	t.Cleanup(func() { _ = q.Close(); server.Close() }) // it may hold requests
	return q, server.URL
}

// each runs a test against the simulator in each version that it simulates, and against the real program if installed.
func each(t *testing.T, test func(t *testing.T, c *Client, seed *torrentsim.WebSeed)) {
	t.Helper()
	t.Parallel()
	seed, err := torrentsim.StartWebSeed("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = seed.Close() })
	for _, version := range []string{"4.5.2", "5.0.4", "5.2.0"} {
		t.Run(version, func(t *testing.T) {
			_, url := standIn(t, torrentsim.QBittorrentOptions{Version: version})
			test(t, New(options(url)), seed)
		})
	}

	t.Run("real", func(t *testing.T) {
		c, _ := realClient(t)
		test(t, c, seed)
	})
}

// realClient returns a client of the real program, with the test's own categories, and the download folder.
func realClient(t *testing.T) (c *Client, downloads string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs qBittorrent")
	}

	q, err := realServer()
	if err != nil {
		t.Skip(err)
	}

	o := options(q.URL)
	o.Username, o.Password = q.Username, q.Password
	o.ActiveCategory, o.DoneCategory = t.Name()[:8]+"-active", t.Name()[:8]+"-done"
	return New(o), q.Downloads
}

func made(t *testing.T, seed *torrentsim.WebSeed, kind torrentsim.TorrentKind) *torrentsim.SeededTorrent {
	t.Helper()
	torrent, err := seed.Add(torrentsim.TorrentSpec{
		Name: strings.NewReplacer("/", "-", ".", "-").Replace(t.Name()) + ".bin", Size: 100_000, Kind: kind,
	})
	if err != nil {
		t.Fatal(err)
	}
	return torrent
}

func must(t *testing.T, err error) {
	t.Helper()
	if f := fault.As(err); f != nil {
		t.Fatal(f, f.Cause)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code fault.Code, retry bool) {
	t.Helper()
	f := fault.As(err)
	if f == nil || f.Code != code || f.Retryable != retry {
		t.Errorf("got %v, want %s, to be tried again %v", err, code, retry)
	}
}

// await polls until the torrent is as wanted.
func await(t *testing.T, c *Client, tag, what string, holds func(*Torrent) bool) Torrent {
	t.Helper()
	var found *Torrent
	wait.Eventually(t, tag+" is "+what, func() (held bool) {
		var err error
		found, err = c.Find(t.Context(), tag, "", "")
		return err == nil && holds(found)
	})
	if found == nil {
		return Torrent{}
	}
	return *found
}

func is(state State) func(*Torrent) bool {
	return func(t *Torrent) bool { return t != nil && t.State == state }
}

// TestFreeSpaceIsMeasuredFirst makes qBittorrent report 0 at first, as before it has measured, and permanently, as with
// a full disk.
func TestFreeSpaceIsMeasuredFirst(t *testing.T) {
	t.Parallel()
	q, url := standIn(t, torrentsim.QBittorrentOptions{})
	must(t, q.SetFreeSpace(0))
	measured := make(chan struct{})
	go func() {
		defer close(measured)
		asked := func(r sim.Request) bool { return strings.HasSuffix(r.Path, "/sync/maindata") && r.Done }
		for !slices.ContainsFunc(q.Requests(), asked) && t.Context().Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		_ = q.SetFreeSpace(9000)
	}()
	c := New(options(url))
	if free, err := c.FreeSpace(t.Context()); err != nil || free != 9000 {
		t.Errorf("%d bytes are free before qBittorrent has measured, %v", free, err)
	}
	<-measured

	must(t, q.SetFreeSpace(0))
	for _, c := range []*Client{c, New(options(url))} {
		if free, err := c.FreeSpace(t.Context()); err != nil || free != 0 {
			t.Errorf("%d bytes are free on a full disk, %v", free, err)
		}
	}
}

func TestLife(t *testing.T) {
	each(t, func(t *testing.T, c *Client, seed *torrentsim.WebSeed) {
		ctx, content := t.Context(), made(t, seed, torrentsim.TorrentV1)
		version, err := c.Version(ctx)
		if err != nil || !strings.HasPrefix(version, "v") {
			t.Fatal(version, err)
		}

		base, err := c.DefaultSavePath(ctx)
		if err != nil || base == "" {
			t.Fatal(base, err)
		}

		for range 2 {
			if free, err := c.FreeSpace(ctx); err != nil || free == 0 {
				t.Fatal(free, err)
			}
		}

		file, path := content.File, base+"/job-1"
		must(t, c.Add(ctx, NewTorrent{File: file, Tag: "job-1", SavePath: path}))
		wantCode(t, c.Add(ctx, NewTorrent{File: file, Tag: "job-2", SavePath: path}), fault.ProviderRejected, false)
		wantCode(
			t, c.Add(ctx, NewTorrent{File: []byte("not a torrent"), Tag: "job-2", SavePath: path}), fault.ProviderRejected,
			false,
		)
		done := await(t, c, "job-1", "complete", is(Complete))
		if done.ContentPath != path+"/"+content.Name || done.V1 != content.InfohashV1 || done.Category != c.o.ActiveCategory || done.Size != content.Size || done.Progress != 1 {
			t.Errorf("%+v", done)
		}

		listed, err := c.List(ctx)
		if err != nil || len(listed) != 1 || !listed[0].HasTag("job-1") || listed[0].HasTag("job-2") || !c.Ours(listed[0]) {
			t.Errorf("%+v, %v", listed, err)
		}

		must(t, c.Stop(ctx, listed))
		must(t, c.Finish(ctx, listed, ""))
		if listed, err = c.List(ctx); err != nil || len(listed) != 0 {
			t.Errorf("%+v, %v", listed, err)
		}

		found, err := c.FindContent(ctx, content.InfohashV1, "")
		if err != nil || found == nil || found.Category != c.o.DoneCategory {
			t.Fatalf("%+v, %v", found, err)
		}

		must(t, c.Adopt(ctx, *found, "job-2"))
		if found, err = c.Find(ctx, "job-2", "", ""); err != nil || found == nil || !found.HasTag("job-1") || found.Category != c.o.ActiveCategory {
			t.Fatalf("%+v, %v", found, err)
		}

		must(t, c.Resume(ctx, *found))
		must(t, c.DeleteTags(ctx, "job-2", "job-77"))
		if again, err := c.Find(ctx, "job-2", "", ""); err != nil || again != nil {
			t.Errorf("%+v, %v", again, err)
		}

		must(t, c.Delete(ctx, *found, false))
		must(t, c.Delete(ctx, *found, false)) // again: it is gone, as wanted
		if gone, err := c.FindContent(ctx, content.InfohashV1, content.InfohashV2); err != nil || gone != nil {
			t.Errorf("%+v, %v", gone, err)
		}

		must(t, c.DeleteTags(ctx, "job-1"))
	})
}

// TestFilesGone adopts a torrent whose files someone has deleted without qBittorrent noticing: once adopted it no
// longer shows as complete.
func TestFilesGone(t *testing.T) {
	t.Parallel()
	adopt := func(t *testing.T, c *Client, done Torrent, lose func()) {
		t.Helper()
		must(t, c.Finish(t.Context(), []Torrent{done}, ""))
		await(t, c, "job-71", "done", func(found *Torrent) bool { return found != nil && found.Category == c.o.DoneCategory })
		lose()

		found, err := c.Find(t.Context(), "job-71", "", "")
		if err != nil || found == nil || found.State != Complete {
			t.Fatalf("%+v, %v", found, err)
		}

		must(t, c.Adopt(t.Context(), *found, "job-72"))
		if found, err = c.Find(t.Context(), "job-72", "", ""); err != nil || found == nil || found.State == Complete || !c.Active(*found) {
			t.Errorf("adopted without its files: %+v, %v", found, err)
		}
	}

	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		q, url := standIn(
			t, torrentsim.QBittorrentOptions{Refresh: time.Second, Plan: torrentsim.TorrentPlan{Duration: time.Hour}},
		)

		c, whole, gone := New(options(url)), 1.0, true
		must(
			t,
			c.Add(
				t.Context(),
				NewTorrent{Magnet: "magnet:?xt=urn:btih:" + strings.Repeat("a", 40), Tag: "job-71", SavePath: "/books/job-1"},
			),
		)

		must(t, q.Change("job-71", torrentsim.TorrentChange{Progress: &whole}))
		adopt(
			t, c, await(t, c, "job-71", "complete", is(Complete)),
			func() { must(t, q.Change("job-71", torrentsim.TorrentChange{Gone: &gone})) },
		)
	})

	t.Run("real", func(t *testing.T) {
		t.Parallel()
		c, base := realClient(t)
		seed, err := torrentsim.StartWebSeed("127.0.0.1:0")
		must(t, err)
		t.Cleanup(func() { _ = seed.Close() })
		content, err := seed.Add(torrentsim.TorrentSpec{Name: "files-gone.bin", Size: 4 << 20})
		must(t, err)
		must(t, c.Add(t.Context(), NewTorrent{File: content.File, Tag: "job-71", SavePath: base + "/files-gone"}))
		done := await(t, c, "job-71", "complete", is(Complete))

		seed.SetSpeed(512 << 10) // fetching it again takes longer than the old state shows
		adopt(t, c, done, func() { must(t, os.Remove(done.ContentPath)) })
		again := await(t, c, "job-72", "complete again", is(Complete))
		if file, err := os.Stat(again.ContentPath); err != nil || file.Size() != content.Size {
			t.Errorf("complete without its file: %v", err)
		}

		must(t, c.Delete(t.Context(), again, false))
		must(t, c.DeleteTags(t.Context(), "job-71", "job-72"))
	})
}

// TestHashes finds torrents of each version by what is known of them.
func TestHashes(t *testing.T) {
	each(t, func(t *testing.T, c *Client, seed *torrentsim.WebSeed) {
		ctx := t.Context()
		for i, kind := range []torrentsim.TorrentKind{torrentsim.TorrentV2, torrentsim.TorrentHybrid} {
			content, tag := made(t, seed, kind), fmt.Sprint("job-1", i)
			must(t, c.Add(ctx, NewTorrent{File: content.File, Tag: tag, SavePath: "/tmp/stagecoach-none"}))
			await(t, c, tag, "there", func(t *Torrent) bool { return t != nil && t.V2 != "" })
			for _, hashes := range [][2]string{{content.InfohashV1, ""}, {"", content.InfohashV2}, {content.InfohashV1, content.InfohashV2}} {
				if hashes == [2]string{} {
					continue
				}
				found, err := c.FindContent(ctx, hashes[0], hashes[1])
				if err != nil || found == nil || !found.HasTag(tag) || found.V2 != content.InfohashV2 {
					t.Errorf("by %v: %+v, %v", hashes, found, err)
				}
			}

			found, err := c.Find(ctx, "job-none", "", content.InfohashV2)
			if err != nil || found == nil {
				t.Fatalf("%+v, %v", found, err)
			}

			must(t, c.Delete(ctx, *found, false))
			must(t, c.DeleteTags(ctx, tag))
		}

		if found, err := c.Find(ctx, "job-none", "", ""); err != nil || found != nil {
			t.Errorf("found %+v, %v, by nothing", found, err)
		}
	})
}

// TestMagnet follows a link whose torrent shows a second hash with its metadata.
func TestMagnet(t *testing.T) {
	t.Parallel()
	q, url := standIn(
		t,
		torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{
			Meta: time.Hour, Duration: torrentsim.Never, Hybrid: true,
		}},
	)

	c, ctx := New(options(url)), t.Context()
	hash := strings.Repeat("ab", 20)
	must(t, c.Add(ctx, NewTorrent{Magnet: "magnet:?xt=urn:btih:" + hash, Tag: "job-1", SavePath: "/b"}))
	before := await(t, c, "job-1", "waiting", is(Waiting))
	must(t, q.Advance(2*time.Hour))
	after := await(t, c, "job-1", "active", is(Active))
	if before.ID == after.ID || after.V1 != hash || after.V2 == "" {
		t.Errorf("before %+v, after %+v", before, after)
	}

	wantCode(
		t, c.Add(ctx, NewTorrent{Magnet: "magnet:?xt=urn:btih:" + hash, Tag: "job-2", SavePath: "/b"}),
		fault.ProviderRejected, false,
	)
	if found, err := c.FindContent(ctx, hash, ""); err != nil || found == nil || found.ID != after.ID {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestOnlyOurs leaves others' torrents alone.
func TestOnlyOurs(t *testing.T) {
	t.Parallel()
	q, url := standIn(t, torrentsim.QBittorrentOptions{})
	c, ctx := New(options(url)), t.Context()
	hash := strings.Repeat("ab", 20)
	must(
		t, q.Put(torrentsim.Torrent{InfohashV1: hash, Name: "private", Size: 5, Tags: []string{"job-1"}, Category: "films"}),
	)
	theirs, err := c.Find(ctx, "job-1", hash, "")
	must(t, err)
	if theirs == nil || c.Ours(*theirs) {
		t.Fatalf("%+v", theirs)
	}
	if found, err := c.Find(ctx, "job-1", "", ""); err != nil || found != nil { // another installation's job 1
		t.Errorf("%+v, %v", found, err)
	}

	must(t, c.DeleteTags(ctx, "job-1"))
	for name, err := range map[string]error{
		"adopt": c.Adopt(ctx, *theirs, "job-2"), "resume": c.Resume(ctx, *theirs), "delete": c.Delete(ctx, *theirs, false),
	} {
		if fault.CodeOf(err) != fault.ProviderRejected {
			t.Errorf("%s: %v", name, err)
		}
	}

	must(t, c.Stop(ctx, []Torrent{*theirs}))
	must(t, c.Finish(ctx, []Torrent{*theirs}, ""))
	must(t, c.Activate(ctx, *theirs))
	if got := q.Torrents(); len(got) != 1 || got[0].Category != "films" || len(got[0].Tags) != 1 || len(q.Deletions()) > 0 {
		t.Errorf("%+v", got)
	}

	listed, err := c.List(ctx)
	if err != nil || len(listed) > 0 {
		t.Errorf("%+v, %v", listed, err)
	}

	must(
		t, c.Add(ctx, NewTorrent{Magnet: "magnet:?xt=urn:btih:" + strings.Repeat("cd", 20), Tag: "job-1", SavePath: "/b"}),
	)
	must(t, c.DeleteTags(ctx, "job-1", "job-2"))
	if got := q.Torrents(); len(got) != 2 || len(got[0].Tags) != 1 || len(got[1].Tags) != 0 || len(q.Tags()) != 1 {
		t.Errorf("%+v, tags %v", got, q.Tags())
	}
}

// TestStopCondition downloads although qBittorrent's own preference stops new torrents.
func TestStopCondition(t *testing.T) {
	t.Parallel()
	seed, err := torrentsim.StartWebSeed("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = seed.Close() })
	completes := func(t *testing.T, c *Client, path string) {
		content := made(t, seed, torrentsim.TorrentV1)
		must(t, c.Add(t.Context(), NewTorrent{File: content.File, Tag: "job-1", SavePath: path}))
		await(t, c, "job-1", "complete", func(found *Torrent) bool { return found != nil && found.State == Complete })
	}

	for _, condition := range []string{"MetadataReceived", "FilesChecked"} {
		for _, version := range []string{"4.5.2", "5.0.4", "5.2.0"} {
			t.Run(condition+version, func(t *testing.T) {
				t.Parallel()
				_, url := standIn(t, torrentsim.QBittorrentOptions{
					Version: version, StopsAt: condition, Plan: torrentsim.TorrentPlan{Duration: 50 * time.Millisecond},
				})
				completes(t, New(options(url)), "/b")
			})
		}
		t.Run(condition+"real", func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("runs qBittorrent")
			}
			q, err := servers.StartQBittorrent(t.Context(), servers.QBittorrentOptions{Dir: t.TempDir()})
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { _ = q.Stop() })
			o := options(q.URL)
			o.Username, o.Password = q.Username, q.Password
			c := New(o)
			must(t, c.qbt.SetPreferencesCtx(t.Context(), map[string]any{"torrent_stop_condition": condition}))
			completes(t, c, q.Downloads)
		})
	}
}

// TestWrongPassword tries it once, for any number of callers, and with delays that keep the address from being banned.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	q, url := standIn(t, torrentsim.QBittorrentOptions{})
	o := options(url)
	o.Password = "wrong"
	c := New(o)
	now := time.Now()
	c.wire.login.now = func() time.Time { return now }
	logins := func() (n int) {
		for _, r := range q.Requests() {
			if strings.HasSuffix(r.Path, "/auth/login") {
				n++
			}
		}
		return n
	}

	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := c.List(t.Context())
			wantCode(t, err, fault.ProviderUnauthorized, true)
		})
	}

	all.Wait()
	for i, pause := range []time.Duration{0, 30 * time.Second, 31 * time.Second, 9 * time.Minute, time.Minute, 23 * time.Hour, 2 * time.Hour} {
		now = now.Add(pause)
		_, err := c.List(t.Context())
		wantCode(t, err, fault.ProviderUnauthorized, true)
		if want := []int{1, 1, 2, 2, 3, 3, 4}[i]; logins() != want {
			t.Errorf("after %d pauses: %d logins, want %d", i, logins(), want)
		}
	}

	if _, err := New(options(url)).List(t.Context()); err != nil {
		t.Errorf("others are shut out too: %v", err)
	}
}

// TestSessionForgotten restarts the server under the client.
func TestSessionForgotten(t *testing.T) {
	t.Parallel()
	q, url := standIn(t, torrentsim.QBittorrentOptions{})
	c, ctx := New(options(url)), t.Context()
	for restarts := range 3 {
		if _, err := c.List(ctx); err != nil || c.Sessions() != int64(restarts+1) {
			t.Errorf("after %d restarts: %v, %d sessions", restarts, err, c.Sessions())
		}
		must(
			t, c.Add(ctx, NewTorrent{Magnet: fmt.Sprintf("magnet:?xt=urn:btih:%040d", restarts), Tag: "job-1", SavePath: "/b"}),
		)
		must(t, q.Restart(0))
	}

	if got := len(q.Torrents()); got != 3 {
		t.Errorf("%d torrents", got)
	}
}

// TestOneSession starts many concurrent requests: one login is enough, even after the session was forgotten.
func TestOneSession(t *testing.T) {
	many := func(t *testing.T, c *Client, sessions int64) {
		t.Helper()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := c.List(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}

		all.Wait()
		if got := c.Sessions(); got != sessions {
			t.Errorf("%d sessions, want %d", got, sessions)
		}
	}

	each(t, func(t *testing.T, c *Client, _ *torrentsim.WebSeed) { many(t, c, 1) })
	q, url := standIn(t, torrentsim.QBittorrentOptions{})
	c := New(options(url))
	for restarts := range int64(3) {
		many(t, c, restarts+1)
		must(t, q.Restart(0))
	}
}

// TestFailures distinguishes failures, and reveals no secret.
func TestFailures(t *testing.T) {
	t.Parallel()
	magnet := "magnet:?xt=urn:btih:" + strings.Repeat("ab", 20) + "&tr=http://tracker.example/secret-key/announce"
	add := func(c *Client) error {
		return c.Add(t.Context(), NewTorrent{Magnet: magnet, Tag: "job-1", SavePath: "/secret-path"})
	}

	for name, c := range map[string]struct {
		fault sim.Fault
		code  fault.Code
		retry bool
	}{
		"500":          {sim.Fault{Kind: "500"}, fault.ProviderUnavailable, true},
		"503":          {sim.Fault{Kind: "503"}, fault.ProviderUnavailable, true},
		"429":          {sim.Fault{Kind: "429"}, fault.ProviderUnavailable, true},
		"404":          {sim.Fault{Kind: "404"}, fault.ProviderUnavailable, true},
		"401":          {sim.Fault{Kind: "401"}, fault.ProviderUnauthorized, true},
		"409":          {sim.Fault{Match: "torrents/add", Kind: "409"}, fault.ProviderRejected, false},
		"415":          {sim.Fault{Match: "torrents/add", Kind: "415"}, fault.ProviderRejected, false},
		"Fails.":       {sim.Fault{Match: "torrents/add", Kind: "fails"}, fault.ProviderRejected, false},
		"banned":       {sim.Fault{Kind: "banned"}, fault.ProviderUnauthorized, true},
		"a proxy":      {sim.Fault{Kind: "html_502"}, fault.ProviderUnavailable, true},
		"silence":      {sim.Fault{Match: "torrents/add", Kind: "timeout"}, fault.ProviderUnavailable, true},
		"no answer":    {sim.Fault{Match: "torrents/add", Kind: "lost_answer"}, fault.ProviderUnavailable, true},
		"login broken": {sim.Fault{Match: "auth/login", Kind: "500"}, fault.ProviderUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, url := standIn(t, torrentsim.QBittorrentOptions{})
			q.AddFault(c.fault)
			o := options(url)
			o.Timeout = time.Minute
			if c.fault.Kind == "timeout" {
				o.Timeout = 300 * time.Millisecond
			}
			err := add(New(o))
			wantCode(t, err, c.code, c.retry)
			f := fault.As(err)

			for _, secret := range []string{"secret", url, strings.Repeat("ab", 20), "adminadmin", "/api/v2"} {
				if strings.Contains(fmt.Sprint(err, f.Cause), secret) {
					t.Errorf("%q is told: %v, %v", secret, err, f.Cause)
				}
			}
		})
	}

	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		wantCode(t, add(New(options("http://127.0.0.1:1"))), fault.ProviderUnavailable, true)
	})

	t.Run("nonsense", func(t *testing.T) { // net/http quotes it
		t.Parallel()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			must(t, err)
			_, _ = conn.Write([]byte("HTTP/1.1 secret-path\r\n\r\n"))
			_ = conn.Close()
		}))
		t.Cleanup(server.Close)
		err := add(New(options(server.URL)))
		wantCode(t, err, fault.ProviderUnavailable, true)
		if cause := fault.As(err).Cause.Error(); strings.Contains(cause, "secret") || !strings.Contains(cause, "malformed") {
			t.Errorf("the cause is %s", cause)
		}
	})
	t.Run("something else there", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(
				w, "<html>Ok.",
			)
		}))
		defer server.Close()

		_, err := New(options(server.URL)).List(t.Context())
		if code := fault.CodeOf(err); code != fault.ProviderUnavailable && code != fault.ProviderUnauthorized {
			t.Errorf("got %v", err)
		}
	})

	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		q, url := standIn(t, torrentsim.QBittorrentOptions{})
		q.AddFault(sim.Fault{Match: "torrents/info", Kind: "timeout"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := New(options(url)).List(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("the answer is lost", func(t *testing.T) {
		t.Parallel()
		q, url := standIn(t, torrentsim.QBittorrentOptions{})
		q.AddFault(sim.Fault{Match: "torrents/add", Kind: "lost_answer", Times: 1})
		c := New(options(url))
		wantCode(t, add(c), fault.ProviderUnavailable, true)
		wantCode(t, add(c), fault.ProviderRejected, false)
		found, err := c.FindContent(t.Context(), strings.Repeat("ab", 20), "")
		if err != nil || found == nil || !found.HasTag("job-1") {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// TestStates has the meaning of every state, written out by hand.
func TestStates(t *testing.T) {
	t.Parallel()
	meanings := map[State]string{
		Waiting:  "metaDL forcedMetaDL queuedDL pausedDL stoppedDL checkingResumeData allocating",
		Active:   "downloading forcedDL stalledDL checkingDL moving",
		Complete: "uploading stalledUP forcedUP queuedUP pausedUP stoppedUP",
		Checking: "checkingUP",
		Broken:   "error",
		Lost:     "missingFiles",
		Unknown:  "unknown somethingNew",
	}

	for want, names := range meanings {
		for name := range strings.FieldsSeq(names) {
			torrent := qbt.Torrent{State: qbt.TorrentState(name), Progress: 1, ContentPath: "/a"}
			if got := stateOf(torrent); got != want {
				t.Errorf("%s means %s, want %s", name, got, want)
			}

			unfinished := []qbt.Torrent{torrent, torrent, torrent}
			unfinished[0].Progress, unfinished[1].AmountLeft, unfinished[2].ContentPath = 0.999, 1, ""
			for _, u := range unfinished {
				if got := stateOf(u); got == Complete {
					t.Errorf("%s with progress %v, %d left, in %q is complete", name, u.Progress, u.AmountLeft, u.ContentPath)
				}
			}
		}
	}

	for eta, known := range map[int64]bool{8640000: false, -1: false, 0: true, 77: true} {
		if got := torrentOf(qbt.Torrent{ETA: eta}).ETA; (got != nil) != known {
			t.Errorf("ETA %d: %v", eta, got)
		}
	}
}

// TestAPIKey works without a session, as version 5.2 can, and waits after a refusal like a login.
func TestAPIKey(t *testing.T) {
	t.Parallel()
	q, url := standIn(t, torrentsim.QBittorrentOptions{Version: "5.2.0", APIKey: "planted-key"})
	right, wrong := options(url), options(url)
	right.APIKey, wrong.APIKey = "planted-key", "planted-wrong"

	if _, err := New(right).List(t.Context()); err != nil {
		t.Error(err)
	}

	c, before := New(wrong), len(q.Requests())
	for range 3 {
		_, err := c.List(t.Context())
		wantCode(t, err, fault.ProviderUnauthorized, true)
		if err != nil && strings.Contains(fmt.Sprint(err, fault.As(err).Cause), "planted") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	if asked := len(q.Requests()) - before; asked != 1 {
		t.Errorf("a refused key was sent %d times", asked)
	}
}
