package torrentsim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"testing"
	"time"

	"github.com/anacrolix/torrent/metainfo"
	"github.com/autobrr/go-qbittorrent"

	"stagecoach/dev/sim/simtest"
)

func webSeed(t testing.TB) *WebSeed {
	t.Helper()
	s, err := StartWebSeed("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// get fetches a URL, or a range of it.
func get(t testing.TB, url, byteRange string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if byteRange != "" {
		r.Header.Set("Range", byteRange)
	}
	return simtest.Answer(t, r)
}

func TestWebSeed(t *testing.T) {
	t.Parallel()
	s := webSeed(t)
	q, base := qbTest(t, nil)
	for name, spec := range map[string]TorrentSpec{
		"v1.bin": {Size: 100_000}, "v2.bin": {Size: 100_000, Kind: TorrentV2}, "hybrid.bin": {Size: 100_000, Kind: TorrentHybrid},
		"tiny.bin": {Size: 1, Kind: TorrentHybrid},
		"album":    {Files: map[string]int64{"b.mp3": 50_000, "cover/a.jpg": 7}},
	} {
		spec.Name = name
		made, err := s.Add(spec)
		if err != nil {
			t.Fatal(err)
		}

		again, err := s.Add(spec)
		if err != nil || !bytes.Equal(made.File, again.File) {
			t.Fatal(name, "is another torrent when made anew:", err)
		}
		if status, file := get(t, made.URL, ""); status != 200 || !bytes.Equal(file, made.File) {
			t.Fatal(name, status)
		}

		file, err := metainfo.Load(bytes.NewReader(made.File))
		if err != nil {
			t.Fatal(err)
		}

		info, err := file.UnmarshalInfo()
		if err != nil || info.TotalLength() != made.Size || info.HasV1() != (made.InfohashV1 != "") || info.HasV2() != (made.InfohashV2 != "") {
			t.Fatal(name, info.TotalLength(), err)
		}

		link, err := metainfo.ParseMagnetV2Uri(made.Magnet("127.0.0.1:6881"))
		if err != nil || link.InfoHash.Ok && link.InfoHash.Value.HexString() != made.InfohashV1 || link.Params.Get("x.pe") != "127.0.0.1:6881" {
			t.Fatal(made.Magnet(), err)
		}

		if made.SHA256 != "" {
			status, data := get(t, s.URL+"/content/"+name, "")
			if sum := sha256.Sum256(data); status != 200 || hex.EncodeToString(sum[:]) != made.SHA256 {
				t.Fatal(name, status, len(data))
			}
		}

		// The simulator computes the same hashes.
		if _, err := qbClient(base).AddTorrentFromMemoryCtx(t.Context(), made.File, map[string]string{"tags": name}); err != nil {
			t.Fatal(err)
		}
		if got := torrents(t, qbClient(base), qbittorrent.TorrentFilterOptions{Tag: name})[0]; got.Hash != made.Hash() || got.Size != made.Size {
			t.Fatalf("%s: %+v", name, got)
		}
	}

	if n := len(q.Torrents()); n != 5 {
		t.Fatal(n)
	}

	_, whole := get(t, s.URL+"/content/album/b.mp3", "")
	if status, part := get(t, s.URL+"/content/album/b.mp3", "bytes=1000-1999"); status != 206 || !bytes.Equal(part, whole[1000:2000]) {
		t.Fatal(status, len(part))
	}
	if status, _ := get(t, s.URL+"/content/nothing", ""); status != 404 {
		t.Fatal(status)
	}

	for _, bad := range []TorrentSpec{
		{Name: "a/b", Size: 1},
		{Name: "a"},
		{Name: "a", Files: map[string]int64{"../b": 1}},
		{Name: "a", Files: map[string]int64{"b": 1}, Kind: TorrentHybrid},
	} {
		if _, err := s.Add(bad); err == nil {
			t.Fatalf("%+v was made", bad)
		}
	}

	s.SetSpeed(200_000)
	began := time.Now()
	if status, _ := get(t, s.URL+"/content/v1.bin", ""); status != 200 || time.Since(began) < 400*time.Millisecond {
		t.Fatal("100 kB at 200 kB/s took", time.Since(began))
	}
}
