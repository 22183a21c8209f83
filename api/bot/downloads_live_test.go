package bot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

// sql changes the record directly.
func (w *rig) sql(statement string, args ...any) {
	w.t.Helper()
	if _, err := testdb.DB(w.t, w.wire.URL).Exec(w.t.Context(), statement, args...); err != nil {
		w.t.Fatal(err)
	}
}

func TestALiveMessageFollowsItsDownload(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)
	job := w.starts(boris, w.addsBook(boris, "<Колёса>", "")) // over the API
	w.sees(boris, "📥 №1 <b>&lt;Колёса&gt;</b> (текст)\n🕓 Ждёт начала", "✖️ Отменить")
	if err := w.store.Downloads.NoteTrouble(t.Context(), job.ID, fault.NoFreeSpace); err != nil {
		t.Fatal(err)
	}

	w.sees(boris, "№1", "Мало свободного места")
	if err := w.store.Downloads.MarkAdded(t.Context(), job.ID, 1); err != nil {
		t.Fatal(err)
	}

	w.sees(boris, "№1", "🔎 Ищу раздающих")
	w.becomes(job, core.Event{Type: "started", To: string(lifecycle.DownloadDownloading)}, nil)
	w.sees(boris, "№1", "⏳ Началась")
	left := int64(3*86400 + 5*3600)
	w.progresses(job, download.Progress{Size: 4 << 30, Progress: 0.256, Speed: 1_500_000, ETA: &left})
	w.sees(boris, "№1", "▓▓▓░░░░░░░░░\n⬇️ 25% (1,0 ГБ из 4,0 ГБ)\n1,4 МБ в секунду · осталось 3 д 5 ч", "✖️ Отменить")
	w.becomes(
		job, core.Event{Type: lifecycle.DownloadWentMissing}, func(d *download.Download) { d.FirstNotFoundAt = &d.Now },
	)
	w.sees(boris, "№1", "Сейчас её нет в программе загрузки")
	w.becomes(job, core.Event{Type: lifecycle.DownloadFoundAgain}, func(d *download.Download) { d.FirstNotFoundAt = nil })
	w.progresses(job, download.Progress{Progress: 0.999})
	w.becomes(
		job, core.Event{Type: lifecycle.DownloadStalled}, func(d *download.Download) { d.Attention = string(fault.Stalled) },
	)
	w.sees(boris, "№1", "⬇️ 99% (4,0 ГБ из 4,0 ГБ)\nСейчас данные не поступают\n⚠️ Уже долго ничего не загружается")
	w.completes(job)
	last := w.sees(boris, "📥 №1", "✅ В библиотеке, 4,0 ГБ")
	if len(last.Buttons) != 0 || len(w.about(boris, "📥 №1")) != 1 {
		t.Errorf("the live message: %+v", w.about(boris, "📥 №1"))
	}

	w.sees(boris, "✅ <b>&lt;Колёса&gt;</b> (текст) — в библиотеке.\n4,0 ГБ") // in its own message
	w.presses(boris, "📖 Открыть книгу")
	w.sees(boris, "📖 <b>&lt;Колёса&gt;</b>", "текст: ✅ в библиотеке", "аудио: пока нет")
	w.sees(boris, "✅ <b>&lt;Колёса&gt;</b> (текст) — в библиотеке.")
}

// TestDownloadIsPolledRarely: progress only comes with the poll, and people may have many downloads for days.
func TestDownloadIsPolledRarely(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.EditEvery = 500 * time.Millisecond
	w.run(w.bot())
	w.known(anna, "en")
	job := w.starts(anna, w.addsBook(anna, "Wheels", ""))
	w.sees(anna, "📥 #1")
	w.becomes(job, core.Event{Type: "started", To: string(lifecycle.DownloadDownloading)}, nil)
	for i := range 60 {
		w.progresses(job, download.Progress{Size: 1000, Progress: float64(i) / 100})
		time.Sleep(50 * time.Millisecond)
	}

	w.sees(anna, "📥 #1", "⬇️ 59%")
	edits := w.about(anna, "📥 #1")[0].Edits
	for i, edit := range edits[1:] {
		if gap := edit.At.Sub(edits[i].At); gap < 1950*time.Millisecond {
			t.Errorf("edit %d came %v after the one before", i+1, gap)
		}
	}

	w.fails(job, string(fault.MissingExternalJob)) // the final state does not wait
	w.sees(anna, "📥 #1", "❌ Not downloaded\nThe download program no longer has it.")
}

func TestOwnersAreNotifiedOfTheEnd(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)
	w.writes(boss, "en", "/books") // the menu: notifications do not touch it
	for title, c := range map[string]struct {
		code   fault.Code
		detail fault.Code
		said   string
	}{
		"Gone":    {fault.MissingExternalJob, "", "The download program no longer has it."},
		"Refused": {fault.EnqueueFailed, fault.SourceRefused, "It could not be started. The site refuses to send this torrent file. Check the link."},
		"Late":    {fault.EnqueueUnavailable, fault.ProviderUnavailable, "The download program was unavailable for too long. Try again later."},
		"Broken":  {fault.ProviderError, "", "The download program reported an error."},
		"Removed": {fault.BookGone, "", "The book has been removed."},
		"Odd":     {"something_else", "", "Internal error. Try again later."},
	} {
		job := w.starts(anna, w.addsBook(boss, title, ""))
		failed := core.Event{Type: "failed", To: string(lifecycle.DownloadFailed), Comment: string(c.code)}
		w.becomes(job, failed, func(d *download.Download) { d.LastError = string(c.detail) })
		w.sees(anna, "❌ <b>"+title+"</b> (text) was not downloaded.\n"+c.said, "🔁 Try again")
	}

	own, theirs, operators := w.starts(anna, w.addsBook(boss, "Own", "")), w.starts(
		anna, w.addsBook(boss, "Theirs", ""),
	), w.starts(anna, w.addsBook(boss, "Operators", ""))

	w.cancels(own, &own.UserID, string(fault.CancelledByUser))
	bossID := w.user(boss).ID
	w.cancels(theirs, &bossID, string(fault.CancelledByUser))
	w.cancels(operators, nil, string(fault.CancelledByUser))
	w.sees(anna, "🚫 The download of <b>Theirs</b> (text) was cancelled.\nAn administrator cancelled it.", "🔁")
	w.sees(anna, "🚫 The download of <b>Operators</b> (text) was cancelled.\nAn operator stopped it.")

	slow := w.starts(anna, w.addsBook(boss, "Slow", ""))
	w.becomes(
		slow, core.Event{Type: lifecycle.DownloadStalled}, func(d *download.Download) { d.Attention = string(fault.Stalled) },
	)
	w.sees(anna, "⚠️ The download of <b>Slow</b> (text) makes no progress.\nThere has been no progress for a long time", "✖️ Cancel")
	w.becomes(
		slow, core.Event{Type: lifecycle.DownloadStopped}, func(d *download.Download) { d.Attention = string(fault.TorrentStopped) },
	)
	w.sees(anna, "⚠️ The download of <b>Slow</b> (text) makes no progress.\nA person or a rule has stopped it in the download program.", "✖️ Cancel")
	w.presses(anna, "dx:"+number64(slow.ID))
	w.notes(anna, "is being cancelled")

	if notified := w.downloadNotices(anna); len(notified) != 10 {
		t.Errorf("%d notices: %+v", len(notified), notified)
	} else if slices.ContainsFunc(notified, func(m telegramsim.Message) bool { return len(m.Edits) > 0 || strings.Contains(m.Text, "Own") }) {
		t.Errorf("a notice is edited, or without need: %+v", notified)
	}

	if n := len(w.downloadNotices(boss)); n != 0 {
		t.Errorf("%d notices of others' downloads", n)
	}

	w.presses(anna, "🔁 Try again")
	w.notes(anna, "has started")
}

// TestRetryImport retries a failed import from its notice.
func TestRetryImport(t *testing.T) {
	t.Parallel()
	w, stop := newReader(t)
	defer stop()
	unfit := w.starts(anna, w.addsBook(boss, "Unfit", ""))
	w.becomes(unfit, core.Event{Type: "started", To: string(lifecycle.DownloadDownloading)}, nil)
	w.becomes(unfit, core.Event{Type: lifecycle.DownloadImportFailed}, func(d *download.Download) {
		d.Attention, d.LastError = string(fault.ImportFailed), string(fault.MediumUnsuitable)
	})
	w.sees(anna, "⚠️ <b>Unfit</b> (text) is downloaded, but not in the library.\nThe torrent does not contain what was requested", "🔁 Try again", "✖️ Cancel")
	w.presses(anna, "di:"+number64(unfit.ID))
	w.notes(anna, "put into the library again")
	if now, err := w.store.Downloads.ByID(t.Context(), unfit.ID); err != nil || now.Attention != "" {
		t.Errorf("%+v %v", now, err)
	}
}

func TestNoNoticeOfADownloadComesTwice(t *testing.T) {
	t.Parallel()
	w, stop := newReader(t)
	stop()
	for _, title := range []string{"One", "Two", "Three"} { // no process serves the bot
		w.completes(w.starts(anna, w.addsBook(anna, title, "")))
	}

	due, err := w.store.Notices.Due(t.Context(), []string{lifecycle.WorkloadDownload}, 10)
	if err != nil || len(due) != 1 || due[0].EntityID != "1" {
		t.Fatal(due, err)
	}
	if _, err := w.store.Notices.Take(t.Context(), &due[0]); err != nil { // and one crashes while it sends the first
		t.Fatal(err)
	}

	w.sql(`UPDATE boards SET state = 'lost'`) // the jobs' own messages would come in between
	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "lost_answer", Times: 1})
	stop = w.run(w.bot())
	w.sees(anna, "<b>Two</b> (text) is in the library")
	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "429", RetryAfter: 1, Times: 1})
	w.sees(anna, "<b>Three</b> (text) is in the library")
	w.eventually("the notices are recorded", func() bool { return strings.Join(w.noticeStates(), " ") == "sending unknown sent" })
	stop()
	w.run(w.bot())
	w.completes(w.starts(anna, w.addsBook(anna, "Four", "")))
	w.sees(anna, "<b>Four</b> (text) is in the library")
	w.eventually("rest", func() bool { return strings.Join(w.noticeStates(), " ") == "sending unknown sent sent" })

	for title, want := range map[string]int{"One": 0, "Two": 1, "Three": 1, "Four": 1} {
		if n := len(w.about(anna, "✅ <b>"+title+"</b>")); n != want {
			t.Errorf("%s was notified %d times", title, n)
		}
	}
}

func TestWhoIsNotNotifiedOfDownloads(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)
	job := w.starts(anna, w.addsBook(boss, "Wheels", ""))
	w.sees(anna, "📥 #1")
	if _, err := w.store.Accounts.ChangeUser(t.Context(), w.user(anna).ID, account.UserChange{Status: account.UserBlocked}); err != nil {
		t.Fatal(err)
	}

	w.completes(job)
	other := w.starts(boris, w.addsBook(boss, "Carts", ""))
	w.sees(boris, "📥 №2", "✖️")
	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "blocked", Times: 1})
	w.completes(other)
	w.eventually("two lost notices", func() bool { return strings.Join(w.noticeStates(), " ") == "lost lost" })
	// A workload of a later release does not hold up the others.
	w.sql(
		`INSERT INTO news (user_id, workload, entity_id, seq, due_at) VALUES ($1, 'another', 'x', 1, '-infinity')`,
		w.user(boss).ID,
	)
	w.completes(w.starts(boss, w.addsBook(boss, "Last", "")))
	w.sees(boss, "✅ <b>Last</b> (text) is in the library.")
}

func TestAlertsOfDownloadsAndTheirEnd(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)
	for range 2 {
		if err := w.store.Notices.RaiseAlert(t.Context(), notice.AlertDownloadsAway); err != nil {
			t.Fatal(err)
		}
	}

	w.sees(boss, "🚨 qBittorrent has not answered for some minutes")
	for range 2 {
		if err := w.store.Notices.ResolveAlert(t.Context(), notice.AlertDownloadsAway); err != nil {
			t.Fatal(err)
		}
	}

	w.sees(boss, "✅ qBittorrent answers again.")
	if len(w.messages(boss)) != 3 || len(w.messages(anna)) != 1 {
		t.Errorf("%+v", w.messages(boss))
	}
}
