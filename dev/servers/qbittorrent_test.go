package servers

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/autobrr/go-qbittorrent"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
)

// startQBittorrent starts a server for one test, which is skipped if none is installed.
func startQBittorrent(t *testing.T, o QBittorrentOptions) *QBittorrent {
	t.Helper()
	if _, _, err := FindQBittorrent(testContext(t)); err != nil {
		t.Skip(err)
	}

	if o.Dir == "" {
		o.Dir = t.TempDir()
	}

	begin := time.Now()
	q, err := StartQBittorrent(testContext(t), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		begin := time.Now()
		if err := q.Stop(); err != nil {
			t.Error(err)
		}
		t.Logf("%v stopped after %v", q, time.Since(begin).Round(time.Millisecond))
	})

	t.Logf("%v after %v", q, time.Since(begin).Round(time.Millisecond))
	return q
}

func apiOf(q *QBittorrent) *qbittorrent.Client {
	return qbittorrent.NewClient(qbittorrent.Config{
		Host: q.URL, Username: q.Username, Password: q.Password, RetryAttempts: 1,
	})
}

func startWebSeed(t *testing.T) *torrentsim.WebSeed {
	t.Helper()
	s, err := torrentsim.StartWebSeed("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func seeded(t *testing.T, s *torrentsim.WebSeed, spec torrentsim.TorrentSpec) *torrentsim.SeededTorrent {
	t.Helper()
	made, err := s.Add(spec)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// addOptions are the product's options of an add.
func addOptions(tag, path string) map[string]string {
	return map[string]string{
		"category": "active", "tags": tag, "savepath": path, "ratioLimit": "-1", "seedingTimeLimit": "-1",
	}
}

// await polls until the torrent with the tag is as wanted.
func await(
	t *testing.T, c *qbittorrent.Client, tag, what string, ok func(qbittorrent.Torrent) bool,
) (got qbittorrent.Torrent) {
	t.Helper()
	var seen []string
	held := false
	defer func() {
		if !held {
			t.Logf("%s was %v and is %+v", tag, seen, got)
		}
	}()
	wait.Eventually(t, tag+": "+what, func() bool {
		found, err := c.GetTorrentsCtx(testContext(t), qbittorrent.TorrentFilterOptions{Tag: tag})
		if err != nil || len(found) == 0 {
			return false
		}

		got = found[0]
		if state := string(got.State); len(seen) == 0 || seen[len(seen)-1] != state {
			seen = append(seen, state)
		}
		held = ok(got)
		return held
	})
	return got
}

func complete(got qbittorrent.Torrent) bool {
	return strings.HasSuffix(string(got.State), "UP") && got.Progress == 1 && got.AmountLeft == 0
}

func TestLongQBittorrentKeepsItsState(t *testing.T) {
	night.Only(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", strings.Repeat("x", 100), "книги") // the socket's path is then too long
	q := startQBittorrent(t, QBittorrentOptions{Dir: dir})
	c := apiOf(q)
	if v, err := c.GetAppVersionCtx(testContext(t)); err != nil || v != "v"+q.Version {
		t.Fatal(v, err)
	}
	if _, err := StartQBittorrent(testContext(t), QBittorrentOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "already uses "+dir) {
		t.Errorf("a second server on the same folder: %v", err)
	}

	other := startQBittorrent(t, QBittorrentOptions{Port: q.port})
	if other.port == q.port {
		t.Error("two servers on one port")
	}
	if err := c.CreateCategoryCtx(testContext(t), "active", ""); err != nil {
		t.Fatal(err)
	}
	if err := c.SetPreferencesCtx(testContext(t), map[string]any{"max_active_uploads": 7}); err != nil {
		t.Fatal(err)
	}

	address, password := q.URL, q.Password
	for _, end := range []func(){func() { _ = q.Stop() }, q.Kill, func() {}} {
		end()
		if err := q.Restart(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if q.URL != address || q.Password != password {
			t.Fatal("another address or password after a restart")
		}
		// The client's cookie is stale: one call fails, the next one succeeds.
		if _, err := c.GetAppVersionCtx(testContext(t)); err == nil || !strings.Contains(err.Error(), "qbit re-login") {
			t.Errorf("first call after a restart: %v", err)
		}
		if all, err := c.GetCategoriesCtx(testContext(t)); err != nil || len(all) != 1 {
			t.Errorf("after a restart: %v, %v", all, err)
		}
	}

	if p, err := c.GetAppPreferencesCtx(testContext(t)); err != nil || p.MaxActiveUploads != 7 || p.Dht || p.QueueingEnabled {
		t.Errorf("preferences: %+v, %v", p, err)
	}

	for range 2 {
		if err := q.Stop(); err != nil {
			t.Fatal(err)
		}
	}

	<-q.Done()
	if !portIsFree(q.port) {
		t.Error("the port is not free after Stop")
	}
}

func TestQBittorrentDownloads(t *testing.T) {
	t.Parallel()
	q, seed := startQBittorrent(t, QBittorrentOptions{}), startWebSeed(t)
	c, ctx, answer := apiOf(q), testContext(t), ""
	c.WithHTTPClient(&http.Client{Transport: answers{&answer}})

	for kind, name := range map[torrentsim.TorrentKind]string{torrentsim.TorrentV1: "one.epub", torrentsim.TorrentV2: "two.epub", torrentsim.TorrentHybrid: "Война и мир.epub"} {
		made := seeded(t, seed, torrentsim.TorrentSpec{Name: name, Size: 1_000_000, Kind: kind})
		path := filepath.Join(q.Downloads, "job-"+made.Hash())
		if _, err := c.AddTorrentFromMemoryCtx(ctx, made.File, addOptions("job-"+made.Hash(), path)); err != nil || answer != "Ok." {
			t.Fatal(name, answer, err)
		}

		got := await(t, c, "job-"+made.Hash(), "complete", complete)
		if got.Hash != made.Hash() || got.InfohashV1 != made.InfohashV1 || got.InfohashV2 != made.InfohashV2 ||
			got.ContentPath != filepath.Join(path, name) || got.SavePath != path || got.RatioLimit != -1 {
			t.Fatalf("%+v", got)
		}

		data, err := os.ReadFile(got.ContentPath)
		if want := fetch(t, seed.URL+"/content/"+name); err != nil || !bytes.Equal(data, want) {
			t.Fatal(name, len(data), err)
		}

		// The same torrent again, as a file and as a link, is refused without an error, and its tag is not adopted.
		if _, err := c.AddTorrentFromMemoryCtx(ctx, made.File, addOptions("job-2", path)); err != nil || answer != "Fails." {
			t.Fatal(name, answer, err)
		}
		if _, err := c.AddTorrentFromUrlCtx(ctx, made.Magnet(), addOptions("job-2", path)); err != nil || answer != "Fails." {
			t.Fatal(name, answer, err)
		}

		if kind == torrentsim.TorrentHybrid { // the old hash finds nothing
			if err := c.DeleteTorrentsCtx(ctx, []string{made.InfohashV1}, true); err != nil {
				t.Fatal(err)
			}
		}

		if got := await(t, c, got.Tags, "there", complete); got.Tags != "job-"+made.Hash() {
			t.Fatal(got.Tags)
		}
		if err := c.DeleteTorrentsCtx(ctx, []string{made.Hash()}, true); err != nil {
			t.Fatal(err)
		}
		wait.Eventually(t, "the torrent is listed no more", func() bool {
			found, err := c.GetTorrentsCtx(ctx, qbittorrent.TorrentFilterOptions{})
			return err == nil && len(found) == 0
		})
		wait.Eventually(t, "the file is deleted", func() bool {
			_, err := os.Stat(filepath.Join(path, name))
			return errors.Is(err, os.ErrNotExist)
		})
		if tags, err := c.GetTagsCtx(ctx); err != nil || !slices.Contains(tags, "job-"+made.Hash()) { // they stay
			t.Fatal(tags, err)
		}
	}
}

// answers records the responses of torrents/add.
type answers struct{ last *string }

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, "torrents/add") {
		return response, err
	}
	var text bytes.Buffer
	_, err = text.ReadFrom(response.Body)
	_ = response.Body.Close()
	*a.last = text.String()
	response.Body = readCloser{&text}
	return response, err
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	var data bytes.Buffer
	if _, err := data.ReadFrom(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(url, response.Status, err)
	}
	return data.Bytes()
}

func TestQBittorrentErrors(t *testing.T) {
	t.Parallel()
	q, seed := startQBittorrent(t, QBittorrentOptions{}), startWebSeed(t)
	c, ctx := apiOf(q), testContext(t)
	made := seeded(t, seed, torrentsim.TorrentSpec{Name: "a.epub", Size: 1_000_000})
	if _, err := c.AddTorrentFromMemoryCtx(ctx, made.File, addOptions("job-1", "/proc/nope")); err != nil {
		t.Fatal(err)
	}

	await(t, c, "job-1", "an error", func(got qbittorrent.Torrent) bool { return got.State == "error" })

	// No peer has the metadata of this one.
	if _, err := c.AddTorrentFromUrlCtx(ctx, "magnet:?xt=urn:btih:"+strings.Repeat("ab", 20), addOptions("job-2", "")); err != nil {
		t.Fatal(err)
	}

	got := await(t, c, "job-2", "looks for metadata", func(got qbittorrent.Torrent) bool { return got.State == "metaDL" })
	if got.Size != 0 || got.AmountLeft != 0 || got.ContentPath != "" || got.SavePath != q.Downloads {
		t.Fatalf("%+v", got)
	}
	if _, err := c.AddTorrentFromMemoryCtx(ctx, []byte("garbage"), addOptions("job-3", "")); !errors.Is(err, qbittorrent.ErrTorrentAddFailed) {
		t.Fatal(err)
	}

	wrong := qbittorrent.NewClient(qbittorrent.Config{
		Host: q.URL, Username: q.Username, Password: "wrong", RetryAttempts: 1,
	})
	if err := wrong.LoginCtx(ctx); !errors.Is(err, qbittorrent.ErrBadCredentials) {
		t.Fatal(err)
	}
}

func TestLongQBittorrentIsKilledInTheMiddle(t *testing.T) {
	night.Only(t)
	t.Parallel()
	q, seed := startQBittorrent(t, QBittorrentOptions{}), startWebSeed(t)
	c, ctx := apiOf(q), testContext(t)
	made := seeded(t, seed, torrentsim.TorrentSpec{Name: "big.epub", Size: 6_000_000})
	seed.SetSpeed(1_000_000)
	if _, err := c.AddTorrentFromMemoryCtx(ctx, made.File, addOptions("job-1", "")); err != nil {
		t.Fatal(err)
	}

	await(t, c, "job-1", "a third done", func(got qbittorrent.Torrent) bool { return got.Progress > 0.3 })
	wait.Eventually(t, "the torrent is saved", func() bool { // one that is not is lost
		saved := false
		_ = filepath.WalkDir(q.options.Dir, func(_ string, entry fs.DirEntry, err error) error {
			saved = saved || err == nil && strings.HasSuffix(entry.Name(), ".fastresume")
			return nil
		})
		return saved
	})
	q.Kill()
	if _, err := c.GetAppVersionCtx(ctx); err == nil {
		t.Fatal("a killed server answers")
	}

	seed.SetSpeed(0)
	if err := q.Restart(ctx); err != nil {
		t.Fatal(err)
	}

	got := await(t, c, "job-1", "complete", complete)
	if data, err := os.ReadFile(got.ContentPath); err != nil || !bytes.Equal(data, fetch(t, seed.URL+"/content/big.epub")) {
		t.Fatal(len(data), err)
	}
}

// TestLongQBittorrentSwarm downloads metadata and content of magnet links from a peer, without a tracker.
func TestLongQBittorrentSwarm(t *testing.T) {
	night.Only(t)
	t.Parallel()
	first, second, seed := startQBittorrent(
		t, QBittorrentOptions{},
	), startQBittorrent(t, QBittorrentOptions{}), startWebSeed(t)

	c, ctx := apiOf(second), testContext(t)
	plain := seeded(t, seed, torrentsim.TorrentSpec{Name: "plain.epub", Size: 1_000_000})
	hybrid := seeded(t, seed, torrentsim.TorrentSpec{Name: "hybrid.epub", Size: 1_000_000, Kind: torrentsim.TorrentHybrid})
	for tag, made := range map[string]*torrentsim.SeededTorrent{"job-1": plain, "job-2": hybrid} {
		if _, err := apiOf(first).AddTorrentFromMemoryCtx(ctx, made.File, addOptions(tag, "")); err != nil {
			t.Fatal(err)
		}
		await(t, apiOf(first), tag, "complete", complete)
	}

	if _, err := c.AddTorrentFromUrlCtx(ctx, plain.Magnet(first.Peer), addOptions("job-3", "")); err != nil {
		t.Fatal(err)
	}

	await(t, c, "job-3", "complete", complete)

	// Its metadata shows that it is a hybrid, which changes its hash.
	old := "magnet:?xt=urn:btih:" + hybrid.InfohashV1
	if _, err := c.AddTorrentFromUrlCtx(ctx, old, addOptions("job-4", "")); err != nil {
		t.Fatal(err)
	}

	await(t, c, "job-4", "looks for metadata", func(got qbittorrent.Torrent) bool {
		return got.State == "metaDL" && got.Hash == hybrid.InfohashV1 && got.InfohashV2 == ""
	})
	added := time.Time{}
	got := await(t, c, "job-4", "complete", func(got qbittorrent.Torrent) bool {
		if time.Since(added) > time.Second { // a peer that is added too early is dropped
			added = time.Now()
			_ = c.AddPeersForTorrentsCtx(ctx, []string{got.Hash}, []string{first.Peer})
		}
		return complete(got)
	})
	if got.Hash != hybrid.Hash() || got.InfohashV1 != hybrid.InfohashV1 {
		t.Fatalf("%+v", got)
	}
}

func TestFindQBittorrent(t *testing.T) {
	path := t.TempDir()
	t.Setenv("PATH", path)
	if _, _, err := FindQBittorrent(testContext(t)); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Error(err)
	}

	for says, want := range map[string]string{
		`echo "qBittorrent v4.3.9"`: "older than 4.4", `echo "hello"`: "unknown", "exit 1": "does not run",
	} {
		script(t, filepath.Join(path, "qbittorrent-nox"), says)
		if _, _, err := FindQBittorrent(testContext(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", says, err)
		}
	}

	script(t, filepath.Join(path, "qbittorrent-nox"), `echo "qBittorrent v5.0.4"`)
	if found, version, err := FindQBittorrent(testContext(t)); err != nil || version != "5.0.4" || filepath.Dir(found) != path {
		t.Error(found, version, err)
	}
}

func TestSetINI(t *testing.T) {
	t.Parallel()
	settings := []setting{{"A", `x\y`, "1"}, {"B", "z", "2"}, {"A", "w", "3"}}
	first := setINI("", settings)
	if want := "[A]\nw=3\nx\\y=1\n[B]\nz=2\n"; first != want {
		t.Errorf("%q, want %q", first, want)
	}
	settings[0].value = "9"
	if got, want := setINI("[B]\nx\\y=7\nz=0\n\n[A]\nx\\y=1\nother=5\n", settings), "[B]\nx\\y=7\nz=2\n\n[A]\nw=3\nx\\y=9\nother=5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
