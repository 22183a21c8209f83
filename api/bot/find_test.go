package bot

import (
	"fmt"
	"strings"
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
	"stagecoach/internal/torznab"
)

const indexerKey = "planted-key"

// startProwlarr starts a simulator of Prowlarr.
func (w *rig) startProwlarr() {
	w.t.Helper()
	var err error
	w.prowlarr, err = torznabsim.New(torznabsim.Options{Key: indexerKey, Releases: []torznabsim.Release{
		{Title: "On <Wheels> (epub)", Indexer: "Books & co", Size: 3 << 20, Seeders: 12, Days: 40, Torrent: "http://127.0.0.1:1"},
		{Title: "On <Wheels> (better)", Indexer: "Other", Size: 1 << 30, Seeders: 90, Days: 3, Magnet: magnet},
		{Title: "On <Wheels>, read aloud", Indexer: "Other", Seeders: 1, Magnet: otherMagnet, Audio: true},
	}})
	w.must(err)
	address, stop, err := sim.Start("127.0.0.1:0", w.prowlarr)
	w.must(err)
	w.t.Cleanup(func() { _ = w.prowlarr.Close(); stop() })
	w.indexers = torznab.New(torznab.Options{Indexers: []torznab.Indexer{{URL: address + "/1/api", Key: indexerKey}}})
}

// TestAReleaseIsFound searches by title, picks a release, and downloads a new book; then an existing one.
func TestAReleaseIsFound(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)

	w.writes(anna, "en", "/find")
	w.sees(anna, "Write what to find")
	w.writes(anna, "en", "/find wheels")
	list := w.sees(anna, "🔎 <b>wheels</b> · text", "<b>1.</b> On &lt;Wheels&gt; (better)\n1.0 GB · ↑ 90 · 3 d · Other",
		"<b>2.</b> On &lt;Wheels&gt; (epub)", "Books &amp; co", "1. 1.0 GB", "🔎 audio")
	if strings.Contains(fmt.Sprintf("%+v", list), "planted") {
		t.Errorf("the key is in %+v", list)
	}

	w.presses(anna, "1. ")
	w.sees(anna, "Which book is <b>On &lt;Wheels&gt; (better)</b> for?", "🔎 <b>wheels</b>", "not in the library yet", "➕ Add “On <Wheels>”")
	w.writes(anna, "en", "On Wheels / A. Cartwright") // the title of the new book
	w.presses(anna, "➕ Add “On Wheels / A. Cartwright”")
	w.sees(anna, "✅ Download #1 has started.", "<b>On Wheels</b>", "A. Cartwright", "🔎 text")
	job := w.downloads()[0]
	if job.SourceURL != magnet || job.MediaType != download.MediaText || job.Source != "Other" {
		t.Errorf("%+v", job)
	}

	// From the card of an existing book, in Russian, with the other medium.
	w.writes(boris, "ru", "/book 1")
	w.presses(boris, "🔎 аудио")
	w.sees(boris, "🔎 <b>On Wheels A. Cartwright</b> · аудио", "Ничего не нашлось")
	w.writes(boris, "ru", "wheels")
	w.sees(boris, "🔎 <b>wheels</b> · аудио", "read aloud", "🔎 текст")
	w.presses(boris, "🔎 текст")
	w.sees(boris, "· текст", "(better)", "40 дн.")
	w.presses(boris, "2. ")
	w.sees(boris, "Загрузка №2 началась")
	if job := w.downloads()[1]; job.BookID != 1 || job.MediaType != download.MediaText || !strings.Contains(job.SourceURL, "/1/download?apikey=&link=0") {
		t.Errorf("%+v", job)
	}

	// A single matching book is offered, not chosen: the release may be of another one.
	w.writes(anna, "en", "/find On Wheels audio")
	w.sees(anna, "· audio", "read aloud")
	w.presses(anna, "1. ")
	w.sees(anna, "🔎 <b>On Wheels</b>", "On Wheels — A. Cartwright", "➕ Add “On <Wheels>, read aloud”")
	w.presses(anna, "On Wheels — A. Cartwright")
	w.sees(anna, "Download #3 has started.")
	if job := w.downloads()[2]; job.BookID != 1 || job.MediaType != download.MediaAudio || job.SourceURL != otherMagnet {
		t.Errorf("%+v", job)
	}
}

// TestTheNextRelease shows which of several sources is being tried, and marks the failed one in the next search.
func TestTheNextRelease(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)
	w.writes(anna, "en", "/find wheels")
	w.presses(anna, "1. ")
	w.presses(anna, "➕ Add “On <Wheels>”")
	w.sees(anna, "✅ Download #1 has started.")
	job := w.downloads()[0]
	if len(job.Sources) != 2 || job.Sources[0].Title != "On <Wheels> (better)" {
		t.Fatalf("%+v", job)
	}

	_, err := w.store.Downloads.Switch(t.Context(), lifecycle.DownloadSwitch{JobID: job.ID, From: 1, Outcome: fault.Stalled})
	w.must(err)
	w.sees(anna, "📥 #1", "🧭 Source 2 of 2")
	w.writes(anna, "en", "/book 1")
	w.presses(anna, "🔎 text")
	w.sees(anna, "<b>1.</b> On &lt;Wheels&gt; (epub)", "<b>2.</b> On &lt;Wheels&gt; (better)", "3 d · ⚠️ failed before · Other")

	// A new request has both sources, the failed one last.
	w.fails(job, string(fault.EnqueueUnavailable))
	w.handlesBeside(w.bot(), pressOf(300_000_001, anna, "dr:1", 1))
	if again := w.downloads()[1]; len(again.Sources) != 2 || again.SourceURL != job.Sources[1].SourceURL ||
		again.Sources[1].Title != "On <Wheels> (better)" {
		t.Errorf("%+v", again)
	}
}

// TestASearchFails names an indexer that does not answer; a button of an outdated list, and a bot without indexers,
// report it.
func TestASearchFails(t *testing.T) {
	t.Parallel()
	w, stop := newReader(t)
	w.prowlarr.AddFault(sim.Fault{Kind: "500", Times: 1})
	w.writes(anna, "en", "/find wheels")
	w.sees(anna, "Nothing was found. Try other words.", "⚠️ 127.0.0.1:", "gave no results")
	w.writes(anna, "en", "/find wheels")
	w.sees(anna, "(better)")
	stop()

	w.answersPress(pressOf(300_000_001, anna, "fr:12345678:0", 0), anna, "This list is out of date")
	w.services.Downloads.Indexers = nil
	before := len(w.messages(anna))
	w.handles(w.bot(), message(300_000_002, anna, "/find wheels"))
	if messages := w.messages(anna)[before:]; len(messages) == 0 || !strings.Contains(messages[0].Text, "there are no indexers") {
		t.Errorf("%+v", messages)
	}
	if strings.Contains(w.log.String(), "planted") {
		t.Error("the log has the key")
	}
}
