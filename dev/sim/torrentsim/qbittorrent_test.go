package torrentsim

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
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

// qbTest returns a served simulator whose clock only Advance moves, and its address.
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
		after    time.Duration // since the previous step
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

func torrents(t testing.TB, c *qbittorrent.Client, o qbittorrent.TorrentFilterOptions) []qbittorrent.Torrent {
	t.Helper()
	found, err := c.GetTorrentsCtx(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return found
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
}
