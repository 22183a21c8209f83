package e2e

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
)

// played is a person's wish for a book: the first release found has no seeds, the second one has.
type played struct {
	*library
	dir         string // the library folder
	chat        int64
	reader      account.User
	token       string
	title       string
	dead, alive *torrentsim.SeededTorrent
	job         download.Download
}

// TestNightFromAWishToTheBook sends titles to the bot, with the real qBittorrent: each book arrives in its chat, in the
// library folder and in a reading app's list, once, whatever the worker was doing when it was killed. A worker killed
// while sending the book may leave a delivery with an unknown outcome.
func TestNightFromAWishToTheBook(t *testing.T) {
	t.Parallel()
	night.Only(t)
	dir := filepath.Join(t.TempDir(), "library")
	must(t, os.Mkdir(dir, 0o755))
	l := newLibrary(t, newRealServer(t), map[string]string{
		"STAGECOACH_LIBRARY_DIR": dir, "STAGECOACH_DOWNLOAD_NEXT_AFTER": "2s",
	})
	must(t, l.ground.StartTorznab(torznabsim.Options{Key: "planted-key"}))
	for _, name := range []string{"STAGECOACH_TORZNAB_URL", "STAGECOACH_TORZNAB_KEY"} {
		l.env[name] = l.ground.Settings()[name]
	}
	l.startWorker()
	l.startAPI()

	for i, step := range steps {
		t.Run("killed when "+step.when, func(t *testing.T) {
			w := &played{library: l.in(t), dir: dir, chat: int64(500 + i), title: fmt.Sprintf("Volume %d of Roads", i)}
			w.isWritten()
			w.until(step.when, step.reached)
			l.worker.kill()
			l.startWorker()
			w.comesTrue()
		})
	}
	l.wantTidy()
	l.tellsNothing("a log", l.log.String(), "planted-key")
}

// steps are those between the wish and the book.
var steps = []struct {
	when    string
	reached func(*played) bool
}{
	{"it is asked for", func(w *played) bool { return true }},
	{"the first torrent is added", func(w *played) bool { return w.job.AddedAt != nil }},
	{"the next source is taken", func(w *played) bool { return w.job.SourcePlace == 2 }},
	{"the second torrent is added", func(w *played) bool { return w.find(w.alive) != nil }},
	{"the second torrent is complete", (*played).released},
	{"a file is in the folder", func(w *played) bool { return w.released() && len(w.files()) > 0 }},
	{"it is completed", func(w *played) bool { return w.released() && w.job.State == lifecycle.DownloadCompleted }},
	{"its delivery is made", func(w *played) bool { return w.released() && len(w.deliveriesMade()) > 0 }},
	{"it is in the chat", func(w *played) bool { return w.released() && len(w.documents(w.chat)) > 0 }},
}

// isWritten writes the title to the bot, presses the first release and adds the book.
func (w *played) isWritten() {
	w.Helper()
	_, w.token = w.apiUser("Planted Name", w.chat)
	w.dead, w.alive = w.unseeded(w.title+" dead.epub"), w.unseeded(w.title+" alive.epub")
	for seeders, made := range map[int]*torrentsim.SeededTorrent{90: w.dead, 3: w.alive} {
		w.ground.Torznab.Add(torznabsim.Release{Title: made.Name, Size: made.Size, Seeders: seeders, Days: 1, Torrent: made.URL})
	}

	w.telegram.SendMessage(w.chat, "/find "+w.title)
	w.press(w.chat, "1. ")
	w.press(w.chat, "Add")
	var err error
	w.reader, err = w.store.Accounts.UserByTelegram(w.Context(), w.chat)
	must(w, err)
	wait.Eventually(w, "the download is there", func() bool {
		jobs, err := w.store.Downloads.List(w.Context(), download.Filter{UserID: w.reader.ID, Limit: 1})
		if err == nil && len(jobs) > 0 {
			w.job = jobs[0]
		}
		return err == nil && len(jobs) > 0
	})
}

// until waits until the job has reached a step.
func (w *played) until(step string, reached func(*played) bool) {
	w.Helper()
	wait.Eventually(w, step, func() bool {
		w.job = w.now(w.job)
		return reached(w)
	})
}

// released makes the second torrent available once it exists, and reports whether it is complete.
func (w *played) released() bool {
	if w.job.SourcePlace != 2 || w.find(w.alive) == nil {
		return false
	}
	w.torrents.release(w.library, w.alive)
	return true
}

// comesTrue waits for the end, and checks the book everywhere.
func (w *played) comesTrue() {
	w.Helper()
	w.until("the second torrent is complete", (*played).released)
	w.job = w.completes(w.job)
	w.job = w.becomes(w.job, "sent", func(d download.Download) bool { return d.SentAt != nil })
	if trouble := w.missent(w.reader, w.alive.SHA256); trouble != "" {
		w.Error(trouble)
	}
	for _, made := range w.deliveriesMade() {
		w.Logf("the delivery is %s %q, and the chat has %d documents", made.State, made.LastError, len(w.documents(w.chat)))
		if made.State != lifecycle.DeliveryDelivered && made.LastError != string(fault.OutcomeUnknown) {
			w.Error("nothing but a killed worker was in its way")
		}
	}

	w.wantStory(w.job, "enqueued", "started", "next_source", "completed")
	if files := w.files(); len(files) != 1 || filepath.Base(files[0]) != w.title+".epub" {
		w.Errorf("the library folder has %q", files)
	}
	if list := w.opds("/opds/search?q=" + url.QueryEscape(w.title)); strings.Count(list, "<entry>") != 1 || !strings.Contains(list, w.title) {
		w.Errorf("a reading app has %s", list)
	}
	wait.Eventually(w, "the first torrent is gone", func() bool { return w.find(w.dead) == nil })
}

// files lists the files of the book in the library folder, and what is there besides books.
func (w *played) files() (found []string) {
	w.Helper()
	must(w, filepath.WalkDir(w.dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && (strings.Contains(name, w.title) || !strings.HasSuffix(name, ".epub")) {
			found = append(found, name)
		}
		return err
	}))
	return found
}

func (w *played) deliveriesMade() []delivery.Job {
	w.Helper()
	made, err := w.store.Deliveries.List(w.Context(), delivery.Filter{UserID: w.job.UserID, Limit: 10})
	must(w, err)
	return made
}

// opds sends a request as a reading app does.
func (w *played) opds(path string) string {
	w.Helper()
	ask, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.apiURL+path, nil)
	must(w, err)
	ask.SetBasicAuth("reader", w.token)
	answer, err := http.DefaultClient.Do(ask)
	must(w, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		w.Fatal(answer.Status, err)
	}
	return string(text)
}
