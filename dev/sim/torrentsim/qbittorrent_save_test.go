package torrentsim

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/autobrr/go-qbittorrent"

	"stagecoach/dev/wait"
)

// TestSavedFiles completes a torrent once its files are fetched from the web seed, and removes them with it. A torrent
// without a web seed does not complete by itself.
func TestSavedFiles(t *testing.T) {
	t.Parallel()
	s, dir := webSeed(t), t.TempDir()
	q, base := qbTest(t, func(o *QBittorrentOptions) { o.Save, o.SavePath = true, dir })
	client := qbClient(base)
	for _, spec := range []TorrentSpec{
		{Name: "one.epub", Size: 100_000, Kind: TorrentHybrid},
		{Name: "several", Files: map[string]int64{"1.mp3": 50_000, "covers/a.jpg": 7}},
		{Name: "nobody.epub", Size: 10, NoSeed: true},
	} {
		made, err := s.Add(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.AddTorrentFromMemoryCtx(t.Context(), made.File, map[string]string{"tags": spec.Name}); err != nil {
			t.Fatal(err)
		}
	}

	for _, tag := range []string{"one.epub", "several"} {
		wait.Eventually(t, tag+" is complete", func() bool { return one(t, client, tag).Progress == 1 })
	}
	for _, name := range []string{"one.epub", "several/1.mp3", "several/covers/a.jpg"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if _, want := get(t, s.URL+"/content/"+name, ""); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}

	if err := q.Advance(time.Hour); err != nil {
		t.Fatal(err)
	}
	if there := one(t, client, "nobody.epub"); there.State != qbittorrent.TorrentStateStalledDl {
		t.Errorf("what nobody shares is %s", there.State)
	}
	files, err := client.GetFilesInformationCtx(t.Context(), one(t, client, "several").Hash)
	if err != nil || len(*files) != 2 || (*files)[0].Name != "several/1.mp3" {
		t.Errorf("%+v, %v", files, err)
	}
	if err := client.DeleteTorrentsCtx(t.Context(), []string{one(t, client, "several").Hash}, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "several")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the files are left:", err)
	}
}
