package torrentsim

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anacrolix/torrent/bencode"
	"github.com/autobrr/go-qbittorrent"

	"stagecoach/dev/sim/simtest"
)

const (
	magnetHash = "85ca239df1a7393a1cabf728364e54d50d5b83ba"
	magnetLink = "magnet:?xt=urn:btih:" + magnetHash + "&dn=book"
)

// qbTest is a served stand-in whose clock only Advance moves, and its address.
func qbTest(t testing.TB, change func(*QBittorrentOptions)) (*QBittorrent, string) {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := QBittorrentOptions{Now: func() time.Time { return start }}
	if change != nil {
		change(&o)
	}

	q, err := NewQBittorrent(o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = q.Close() })
	return q, simtest.Serve(t, q)
}

// qbClient is the client that the product uses.
func qbClient(base string) *qbittorrent.Client {
	return qbittorrent.NewClient(qbittorrent.Config{
		Host: base, Username: "admin", Password: "adminadmin", RetryAttempts: 1,
	})
}

// smallTorrent is a .torrent file of one file, with its info hash.
func smallTorrent(t testing.TB, name string, size int64) (file []byte, hash string) {
	t.Helper()
	const pieceLength = 1 << 14
	pieces := make([]byte, (size+pieceLength-1)/pieceLength*sha1.Size)
	_, _ = rand.Read(pieces)
	info := bencode.MustMarshal(map[string]any{
		"name": name, "length": size, "piece length": pieceLength, "pieces": string(pieces),
	})
	sum := sha1.Sum(info)
	return bencode.MustMarshal(map[string]any{"info": bencode.Bytes(info)}), hex.EncodeToString(sum[:])
}

// one returns the only torrent with a tag.
func one(t testing.TB, c *qbittorrent.Client, tag string) qbittorrent.Torrent {
	t.Helper()
	found, err := c.GetTorrentsCtx(t.Context(), qbittorrent.TorrentFilterOptions{Tag: tag})
	if err != nil || len(found) != 1 {
		t.Fatalf("torrents with tag %s: %d, %v", tag, len(found), err)
	}
	return found[0]
}

// options are the product's options of an add.
func options(tag string) map[string]string {
	return map[string]string{
		"category": "active", "tags": tag, "savepath": "/books/" + tag, "ratioLimit": "-1", "seedingTimeLimit": "-1",
	}
}

// TestQBittorrentLife follows one download of ten hours through all its states.
func TestQBittorrentLife(t *testing.T) {
	t.Parallel()
	q, base := qbTest(t, func(o *QBittorrentOptions) {
		o.Plan = TorrentPlan{
			Meta: time.Minute, Check: time.Second, Duration: 10 * time.Hour, Moving: time.Minute, Size: 36_000_000,
		}
	})

	c, ctx := qbClient(base), t.Context()
	if err := c.LoginCtx(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddTorrentFromUrlCtx(ctx, magnetLink, options("job-1")); err != nil {
		t.Fatal(err)
	}

	for _, want := range []struct {
		after    time.Duration // since the step before
		state    string
		progress float64
		content  string
		eta      int64
	}{
		{0, "metaDL", 0, "", unknownETA},
		{time.Minute, "checkingResumeData", 0, "book", unknownETA},
		{time.Second, "downloading", 0, "/books/job-1/incomplete/book", 36_000},
		{6 * time.Hour, "downloading", 0.6, "/books/job-1/incomplete/book", 4 * 3600},
		{4 * time.Hour, "moving", 1, "/books/job-1/incomplete/book", unknownETA},
		{time.Minute, "stalledUP", 1, "/books/job-1/book", unknownETA},
		{1000 * time.Hour, "stalledUP", 1, "/books/job-1/book", unknownETA},
	} {
		if err := q.Advance(want.after); err != nil {
			t.Fatal(err)
		}

		got := one(t, c, "job-1")
		if string(got.State) != want.state || got.Progress != want.progress || got.ContentPath != want.content || got.ETA != want.eta {
			t.Fatalf("got %s %v %s %d, want %+v", got.State, got.Progress, got.ContentPath, got.ETA, want)
		}
		if want.state == "downloading" && got.DlSpeed != 1000 {
			t.Fatalf("speed %d", got.DlSpeed)
		}
		if got.Size > 0 && got.AmountLeft != int64((1-want.progress)*36_000_000) {
			t.Fatalf("amount left %d of %d at %v", got.AmountLeft, got.Size, want.progress)
		}
	}

	got := one(t, c, "job-1")
	if got.Hash != magnetHash || got.InfohashV1 != magnetHash || got.Category != "active" || got.SavePath != "/books/job-1" ||
		got.RatioLimit != -1 || got.CompletionOn-got.AddedOn != 10*3600+61 {
		t.Fatalf("%+v", got)
	}
}

func TestQBittorrentSmallFile(t *testing.T) {
	t.Parallel()
	_, base := qbTest(t, nil)
	c, ctx := qbClient(base), t.Context()
	file, hash := smallTorrent(t, "a.txt", 20_000)
	if _, err := c.AddTorrentFromMemoryCtx(ctx, file, options("job-1")); err != nil {
		t.Fatal(err)
	}

	got := one(t, c, "job-1") // complete at once: it never shows as downloading
	if got.Hash != hash || got.State != "stalledUP" || got.AmountLeft != 0 || got.Size != 20_000 || got.ContentPath != "/books/job-1/a.txt" {
		t.Fatalf("%+v", got)
	}
	if n := len(torrents(t, c, qbittorrent.TorrentFilterOptions{Category: "active"})); n != 1 {
		t.Fatal(n)
	}

	for _, o := range []qbittorrent.TorrentFilterOptions{{Category: "done"}, {Tag: "job-2"}, {Hashes: []string{"nope"}}} {
		if n := len(torrents(t, c, o)); n != 0 {
			t.Fatal(o, n)
		}
	}

	if n := len(torrents(t, c, qbittorrent.TorrentFilterOptions{Hashes: []string{"nope", strings.ToUpper(hash)}})); n != 1 {
		t.Fatal(n)
	}
}

func torrents(t testing.TB, c *qbittorrent.Client, o qbittorrent.TorrentFilterOptions) []qbittorrent.Torrent {
	t.Helper()
	found, err := c.GetTorrentsCtx(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// added adds with a plain request and returns the status and the text.
func added(t testing.TB, base string, c *qbittorrent.Client, urls string) (int, string) {
	t.Helper()
	var status int
	var text string
	seen := roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && strings.HasSuffix(r.URL.Path, "torrents/add") {
			data, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			status, text = response.StatusCode, string(data)
			response.Body = io.NopCloser(strings.NewReader(text))
		}
		return response, err
	})

	_, _ = c.WithHTTPClient(&http.Client{Transport: seen}).AddTorrentFromUrlCtx(t.Context(), urls, map[string]string{})
	return status, text
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestQBittorrentRefusals(t *testing.T) {
	t.Parallel()
	q, base := qbTest(t, nil)
	c, ctx := qbClient(base), t.Context()
	if status, text := added(t, base, c, magnetLink); status != 200 || text != "Ok." {
		t.Fatal(status, text)
	}

	for _, bad := range []string{magnetLink, "magnet:?xt=urn:btih:" + strings.ToUpper(magnetHash), magnetHash, "garbage", "magnet:?xt=urn:btih:zz"} {
		if status, text := added(t, base, c, bad); status != 200 || text != "Fails." {
			t.Fatal(bad, status, text)
		}
	}

	// An address is accepted to be fetched later, and no answer reports that it does not exist.
	if status, text := added(t, base, c, "http://127.0.0.1:1/a.torrent"); status != 200 || text != "Ok." {
		t.Fatal(status, text)
	}
	if _, err := c.AddTorrentFromMemoryCtx(ctx, []byte("garbage"), map[string]string{}); !errors.Is(err, qbittorrent.ErrTorrentAddFailed) {
		t.Fatal(err)
	}
	if n := len(q.Torrents()); n != 1 {
		t.Fatal(n)
	}

	_, base = qbTest(t, func(o *QBittorrentOptions) { o.Version = "5.2.0" })
	c = qbClient(base)
	answer, err := c.AddTorrentFromUrlCtx(ctx, magnetLink, options("job-1"))
	if err != nil || answer.SuccessCount != 1 || !slices.Equal(answer.AddedTorrentIds, []string{magnetHash}) {
		t.Fatal(answer, err)
	}
	if _, err := c.AddTorrentFromUrlCtx(ctx, magnetLink, options("job-2")); !errors.Is(err, qbittorrent.ErrTorrentAddFailed) {
		t.Fatal(err)
	}
}

func TestQBittorrentLogin(t *testing.T) {
	t.Parallel()
	q, base := qbTest(t, nil)
	c, ctx := qbClient(base), t.Context()
	if v, err := c.GetAppVersionCtx(ctx); err != nil || v != "v4.5.2" {
		t.Fatal(v, err)
	}
	// After a restart the cookie is stale: the first call fails, logs in, and the next one works.
	if err := q.Restart(0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetAppVersionCtx(ctx); err == nil || !strings.Contains(err.Error(), "qbit re-login") {
		t.Fatal(err)
	}
	if _, err := c.GetAppVersionCtx(ctx); err != nil {
		t.Fatal(err)
	}

	wrong := qbittorrent.NewClient(qbittorrent.Config{Host: base, Username: "admin", Password: "wrong", RetryAttempts: 1})
	for range maxFailures {
		if err := wrong.LoginCtx(ctx); !errors.Is(err, qbittorrent.ErrBadCredentials) {
			t.Fatal(err)
		}
	}

	late := qbClient(base)
	if err := late.LoginCtx(ctx); !errors.Is(err, qbittorrent.ErrIPBanned) {
		t.Fatal(err)
	}
	if _, err := c.GetAppVersionCtx(ctx); err != nil { // a session outlives the ban
		t.Fatal(err)
	}
	if err := q.Advance(time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := late.LoginCtx(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestQBittorrentHybrid(t *testing.T) {
	t.Parallel()
	q, base := qbTest(t, func(o *QBittorrentOptions) {
		o.Plan = TorrentPlan{Meta: time.Second, Duration: time.Hour, Hybrid: true}
	})

	c, ctx := qbClient(base), t.Context()
	if _, err := c.AddTorrentFromUrlCtx(ctx, magnetLink, options("job-1")); err != nil {
		t.Fatal(err)
	}
	if err := q.Advance(time.Second); err != nil {
		t.Fatal(err)
	}

	got := one(t, c, "job-1")
	if got.Hash == magnetHash || got.Hash != got.InfohashV2[:40] || got.InfohashV1 != magnetHash {
		t.Fatalf("%+v", got)
	}
	if n := len(torrents(t, c, qbittorrent.TorrentFilterOptions{Hashes: []string{magnetHash}})); n != 0 {
		t.Fatal("the old hash still finds it")
	}
	if _, text := added(t, base, c, magnetLink); text != "Fails." {
		t.Fatal(text)
	}
	if err := c.DeleteTorrentsCtx(ctx, []string{magnetHash}, true); err != nil || len(q.Torrents()) != 1 {
		t.Fatal(err, q.Torrents())
	}
	if err := c.DeleteTorrentsCtx(ctx, []string{got.Hash}, true); err != nil || len(q.Torrents()) != 0 {
		t.Fatal(err, q.Torrents())
	}
	if d := q.Deletions(); len(d) != 1 || !d[0].Files || !slices.Equal(d[0].Tags, []string{"job-1"}) {
		t.Fatalf("%+v", d)
	}
	if tags, err := c.GetTagsCtx(ctx); err != nil || !slices.Equal(tags, []string{"job-1"}) { // they stay
		t.Fatal(tags, err)
	}
}

// TestQBittorrentMetadataFromFile adds the file of a torrent whose magnet link has no metadata yet.
func TestQBittorrentMetadataFromFile(t *testing.T) {
	t.Parallel()
	_, base := qbTest(t, func(o *QBittorrentOptions) { o.Plan = TorrentPlan{Meta: Never, Duration: Never} })
	c, ctx := qbClient(base), t.Context()
	file, hash := smallTorrent(t, "a.txt", 20_000)
	if _, err := c.AddTorrentFromUrlCtx(ctx, "magnet:?xt=urn:btih:"+hash, options("job-1")); err != nil {
		t.Fatal(err)
	}
	if got := one(t, c, "job-1"); got.State != "metaDL" || got.Size != 0 || got.TotalSize != -1 || got.AmountLeft != 0 {
		t.Fatalf("%+v", got)
	}
	if _, err := c.AddTorrentFromMemoryCtx(ctx, file, options("job-2")); err != nil {
		t.Fatal(err) // the library does not report the refusal
	}
	if got := one(t, c, "job-1"); got.State != "stalledDL" || got.Size != 20_000 || got.Tags != "job-1" {
		t.Fatalf("%+v", got)
	}
}

// TestQBittorrentHidden reads a torrent in the moment after it was added.
func TestQBittorrentHidden(t *testing.T) {
	t.Parallel()
	q, base := qbTest(t, func(o *QBittorrentOptions) { o.Plan = TorrentPlan{Hidden: time.Second, Duration: time.Hour} })
	c, ctx := qbClient(base), t.Context()
	if _, err := c.AddTorrentFromUrlCtx(ctx, magnetLink, options("job-1")); err != nil {
		t.Fatal(err)
	}
	if all := torrents(t, c, qbittorrent.TorrentFilterOptions{}); len(all) != 0 {
		t.Fatal(all)
	}
	if _, text := added(t, base, c, magnetLink); text != "Fails." {
		t.Fatal(text)
	}
	if err := c.DeleteTorrentsCtx(ctx, []string{magnetHash}, true); err != nil { // no error, and nothing is deleted
		t.Fatal(err)
	}
	if err := q.Advance(time.Second); err != nil {
		t.Fatal(err)
	}
	if got := one(t, c, "job-1"); got.State != "downloading" {
		t.Fatal(got.State)
	}
}

func TestQBittorrentTagsAndCategories(t *testing.T) {
	t.Parallel()
	_, base := qbTest(t, nil)
	c, ctx := qbClient(base), t.Context()
	if _, err := c.AddTorrentFromUrlCtx(ctx, magnetLink, options("job-1")); err != nil {
		t.Fatal(err)
	}

	hashes := []string{magnetHash}
	if err := errors.Join(c.AddTagsCtx(ctx, hashes, "job-2, b"), c.RemoveTagsCtx(ctx, hashes, "b")); err != nil {
		t.Fatal(err)
	}
	if got := one(t, c, "job-2"); got.Tags != "job-1, job-2" {
		t.Fatal(got.Tags)
	}
	if err := c.DeleteTagsCtx(ctx, []string{"job-1"}); err != nil {
		t.Fatal(err)
	}
	if got := one(t, c, "job-2"); got.Tags != "job-2" {
		t.Fatal(got.Tags)
	}
	if tags, err := c.GetTagsCtx(ctx); err != nil || !slices.Equal(tags, []string{"b", "job-2"}) {
		t.Fatal(tags, err)
	}
	if err := c.SetCategoryCtx(ctx, hashes, "done"); !errors.Is(err, qbittorrent.ErrCategoryDoesNotExist) {
		t.Fatal(err)
	}
	if err := c.CreateCategoryCtx(ctx, "done", "/library"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateCategoryCtx(ctx, "done", ""); !errors.Is(err, qbittorrent.ErrInvalidCategoryName) {
		t.Fatal(err) // it exists
	}
	if err := c.SetCategoryCtx(ctx, hashes, "done"); err != nil {
		t.Fatal(err)
	}
	if got := one(t, c, "job-2"); got.Category != "done" || got.SavePath != "/books/job-1" {
		t.Fatalf("%+v", got)
	}
	if all, err := c.GetCategoriesCtx(ctx); err != nil || len(all) != 2 || all["done"].SavePath != "/library" {
		t.Fatal(all, err)
	}
}

func TestQBittorrentErrors(t *testing.T) {
	t.Parallel()
	for version, paused := range map[string]string{"4.5.2": "pausedDL", "5.0.4": "stoppedDL"} {
		q, base := qbTest(t, func(o *QBittorrentOptions) { o.Version, o.Plan.Duration = version, time.Hour })
		c, ctx := qbClient(base), t.Context()
		if _, err := c.AddTorrentFromUrlCtx(ctx, magnetLink, options("job-1")); err != nil {
			t.Fatal(err)
		}

		hashes := []string{magnetHash}
		state := func() string { return string(one(t, c, "job-1").State) }
		if err := errors.Join(q.Advance(30*time.Minute), q.SetFreeSpace(0)); err != nil {
			t.Fatal(err)
		}
		if data, err := c.SyncMainDataCtx(ctx, 0); err != nil || data.ServerState.FreeSpaceOnDisk != 0 || len(data.Torrents) != 1 {
			t.Fatal(data, err)
		}
		if s := state(); s != "error" {
			t.Fatal(s)
		}
		if err := c.ResumeCtx(ctx, hashes); err != nil || state() != "error" { // nothing has changed
			t.Fatal(err)
		}
		if err := q.SetFreeSpace(1 << 40); err != nil || state() != "error" { // it does not resume by itself
			t.Fatal(err)
		}
		if err := c.ResumeCtx(ctx, hashes); err != nil || state() != "downloading" {
			t.Fatal(err)
		}
		if err := c.PauseCtx(ctx, hashes); err != nil || state() != paused {
			t.Fatal(err, state())
		}
		if err := q.Advance(10 * time.Hour); err != nil { // time does not change it
			t.Fatal(err)
		}
		if got := one(t, c, "job-1"); got.Progress != 0.5 {
			t.Fatal(got.Progress)
		}
		if err := errors.Join(c.ResumeCtx(ctx, hashes), q.Advance(time.Hour)); err != nil || state() != "stalledUP" {
			t.Fatal(err, state())
		}

		o := options("job-2")
		o["savepath"] = "/proc/nope"
		if _, err := c.AddTorrentFromUrlCtx(ctx, "magnet:?xt=urn:btih:"+strings.Repeat("a", 40), o); err != nil {
			t.Fatal(err)
		}
		if got := one(t, c, "job-2"); got.State != "error" || got.Progress != 0 {
			t.Fatalf("%+v", got)
		}
	}
}

func TestQBittorrentSteering(t *testing.T) {
	t.Parallel()
	q, base := qbTest(t, nil)
	c, ctx := qbClient(base), t.Context()
	steer := func(method, path string, body any, want int) {
		t.Helper()
		if status, answer := simtest.Do(t, method, base+"/_/"+path, body); status != want {
			t.Fatalf("%s %s: %d %s", method, path, status, answer)
		}
	}

	steer("PUT", "plan", map[string]any{"meta_ms": -1, "duration_ms": 3_600_000, "size": 3_600_000}, 204)
	if _, err := c.AddTorrentFromUrlCtx(ctx, magnetLink, options("job-1")); err != nil {
		t.Fatal(err)
	}

	see := func(state string, progress float64, speed int64) {
		t.Helper()
		if got := one(t, c, "job-1"); string(got.State) != state || got.Progress != progress || got.DlSpeed != speed {
			t.Fatalf("got %s %v %d, want %s %v %d", got.State, got.Progress, got.DlSpeed, state, progress, speed)
		}
	}

	see("metaDL", 0, 0)
	steer("PATCH", "torrents/job-1", map[string]any{"progress": 0.25}, 204)
	see("downloading", 0.25, 1000)
	steer("PATCH", "torrents/job-1", map[string]any{"speed": 2000}, 204)
	see("downloading", 0.25, 2000)
	steer("POST", "clock", map[string]any{"advance_ms": 450_000}, 204)
	see("downloading", 0.5, 2000)
	steer("PATCH", "torrents/book", map[string]any{"speed": 0}, 204)
	steer("POST", "clock", map[string]any{"advance_ms": 3_600_000}, 204)
	see("stalledDL", 0.5, 0)
	steer("PATCH", "torrents/"+magnetHash, map[string]any{"speed": 1000}, 204)
	see("downloading", 0.5, 1000)
	for _, state := range []string{"unknown", "checkingDL", "queuedDL", "forcedMetaDL", "missingFiles", "error"} {
		steer("PATCH", "torrents/job-1", map[string]any{"state": state}, 204)
		see(state, 0.5, 0)
	}

	steer("PATCH", "torrents/job-1", map[string]any{"state": "moving"}, 204)
	see("moving", 1, 0)
	steer("PATCH", "torrents/job-1", map[string]any{"state": "", "progress": 0.1}, 204)
	see("downloading", 0.1, 1000)
	steer("PATCH", "torrents/job-1", map[string]any{"duration_ms": 0}, 204)
	see("stalledUP", 1, 0)
	steer("PATCH", "torrents/job-1", map[string]any{"progress": 0.1}, 400)
	steer("PATCH", "torrents/job-1", map[string]any{"sped": 1}, 400)
	see("stalledUP", 1, 0)
	steer("PATCH", "torrents/job-7", map[string]any{"progress": 1}, 404)
	steer("DELETE", "torrents/job-1", nil, 204)
	if len(q.Torrents()) != 0 || len(q.Deletions()) != 0 {
		t.Fatal("removed behind our back, but", q.Torrents(), q.Deletions())
	}

	steer("POST", "torrents", map[string]any{"items": []map[string]any{
		{"name": "a", "tags": []string{"job-2"}, "category": "active", "size": 10, "plan": map[string]any{"duration_ms": -1}},
		{"name": "b", "tags": []string{"job-3"}, "infohash_v1": strings.Repeat("b", 40)},
	}}, 204)
	steer("POST", "restart", map[string]any{"lose": 1}, 204)
	if all := q.Torrents(); len(all) != 1 || all[0].Name != "a" || all[0].State != "stalledDL" || slices.Contains(q.Tags(), "job-3") {
		t.Fatalf("%+v", all)
	}
	if status, body := simtest.Do(t, "GET", base+"/_/torrents", nil); status != 200 || !strings.Contains(string(body), `"job-2"`) {
		t.Fatal(status, string(body))
	}

	simtest.Arm(t, base+"/", map[string]any{"match": "torrents/info", "kind": "503", "times": 1})
	_, _ = c.GetAppVersionCtx(ctx) // logs in again
	if _, err := c.GetTorrentsCtx(ctx, qbittorrent.TorrentFilterOptions{}); err == nil {
		t.Fatal("the fault did not come")
	}
	if all := torrents(t, c, qbittorrent.TorrentFilterOptions{}); len(all) != 1 {
		t.Fatal(all)
	}
}

func TestQBittorrentRemovesAtRatio(t *testing.T) {
	t.Parallel()
	q, base := qbTest(t, func(o *QBittorrentOptions) { o.RemoveAfter, o.Plan.Duration = 10*time.Second, time.Minute })
	c, ctx := qbClient(base), t.Context()
	other := options("job-2")
	delete(other, "ratioLimit")

	for link, o := range map[string]map[string]string{magnetLink: options("job-1"), strings.Repeat("a", 40): other} {
		if _, err := c.AddTorrentFromUrlCtx(ctx, link, o); err != nil {
			t.Fatal(err)
		}
	}

	if err := q.Advance(69 * time.Second); err != nil || len(q.Torrents()) != 2 {
		t.Fatal(err, q.Torrents())
	}
	if err := q.Advance(time.Second); err != nil || len(q.Torrents()) != 1 {
		t.Fatal(err, q.Torrents())
	}

	one(t, c, "job-1")
}

func TestQBittorrentKeepsTorrents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	withDir := func(o *QBittorrentOptions) { o.Dir, o.Plan = dir, TorrentPlan{Duration: time.Hour} }
	q, base := qbTest(t, withDir)
	c := qbClient(base)
	if _, err := c.AddTorrentFromUrlCtx(t.Context(), magnetLink, options("job-1")); err != nil {
		t.Fatal(err)
	}
	if err := q.Advance(15 * time.Minute); err != nil {
		t.Fatal(err)
	}

	_, base = qbTest(t, withDir) // the first one was not closed
	c = qbClient(base)
	if got := one(t, c, "job-1"); got.Progress != 0.25 || got.Category != "active" {
		t.Fatalf("%+v", got)
	}
	if all, err := c.GetCategoriesCtx(t.Context()); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
}

func BenchmarkQBittorrentListing(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q, base := qbTest(b, nil)
			all := make([]Torrent, n)
			for i := range all {
				all[i] = Torrent{
					Name: fmt.Sprint("book ", i), Tags: []string{fmt.Sprint("job-", i)}, Category: "active", Size: 1 << 30,
					SavePath: fmt.Sprint("/books/", i), Plan: TorrentPlan{Duration: 10 * time.Hour},
				}
			}

			if err := errors.Join(q.Put(all...), q.Advance(time.Hour)); err != nil {
				b.Fatal(err)
			}

			c := qbClient(base)
			for b.Loop() {
				if found := torrents(b, c, qbittorrent.TorrentFilterOptions{Category: "active"}); len(found) != n {
					b.Fatal(len(found))
				}
			}
		})
	}
}
