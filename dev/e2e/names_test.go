package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

// TestNamesReachNoHistory makes downloads of a marked book fail: their links, their torrents and their imports.
// Temporal stores no name of the book, its files or its links; the rig expects none in the logs.
func TestNamesReachNoHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	downloads, shelves := filepath.Join(dir, "downloads"), filepath.Join(dir, "library")
	must(t, os.Mkdir(shelves, 0o755))
	l := newLibrary(t, newStandIn(t), map[string]string{
		"STAGECOACH_LIBRARY_DIR": shelves, "STAGECOACH_QBITTORRENT_SAVE_PATH": downloads,
	})
	l.startWorker()

	// There are no files; then the author's folder leads out of the library; then a torrent has no file of the medium.
	vanished, outside, unsuitable := l.unseeded("planted-vanished.epub"), l.unseeded("planted-outside.epub"), l.unseeded("planted.nfo")
	must(t, os.Symlink(downloads, filepath.Join(shelves, "Planted Author")))
	jobs := map[string]download.Download{}
	for name, made := range map[string]*torrentsim.SeededTorrent{"vanished": vanished, "outside": outside, "unsuitable": unsuitable} {
		job := l.added(l.ask(l.reader(), made.URL))
		if name == "outside" {
			must(t, os.MkdirAll(job.SavePath, 0o755))
			must(t, os.WriteFile(filepath.Join(job.SavePath, made.Name), l.content(made.Name), 0o644))
		}
		l.torrents.release(l, made)
		jobs[name] = job
	}

	jobs["refused"] = l.ask(l.reader(), vanished.URL+".planted")
	foreign := l.torrent("planted-foreign.epub", torrentsim.TorrentSpec{NoSeed: true})
	l.addByHand(foreign, map[string]string{"category": foreignCategory})
	jobs["foreign"] = l.ask(l.reader(), foreign.Magnet()+"&dn=planted")

	for name, job := range jobs {
		job = l.becomes(job, "failed", func(d download.Download) bool {
			return d.Attention == string(fault.ImportFailed) || d.LastError == string(fault.ProviderRejected) || lifecycle.Download.Terminal(d.State)
		})
		var kept strings.Builder
		for _, event := range testtemporal.History(t, l.client, job.WorkflowID(), "") {
			text, err := proto.Marshal(event) // payloads are stored as they are
			must(t, err)
			kept.Write(text)
		}
		if !strings.Contains(kept.String(), "Torrent") {
			t.Errorf("%s: the history tells of no activity", name)
		}
		l.tellsNothing("the history of "+name, kept.String(), "planted", "magnet:", ".epub", shelves, downloads)
	}
}
