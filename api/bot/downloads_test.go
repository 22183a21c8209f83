package bot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mymmrac/telego"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

// newReader returns a rig with a running bot, and people that it knows.
func newReader(t *testing.T) (*rig, func()) {
	t.Helper()
	w := newRig(t)
	stop := w.run(w.bot())
	w.known(boss, "en")
	w.known(anna, "en")
	w.known(boris, "ru")
	return w, stop
}

func TestADownloadIsAskedForStepByStep(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)
	w.writes(anna, "en", "/books")
	w.sees(anna, "📚 <b>Books</b>", "No books yet")
	w.writes(anna, "en", "/book new Wheels & <Carts> / A. Cartwright")
	w.sees(
		anna, "✅ The book is added.", "<b>Wheels &amp; &lt;Carts&gt;</b>\nA. Cartwright", "text: none yet",
		"Send me a magnet link",
	)
	w.writes(anna, "en", "carts") // the card asks for a link
	w.sees(anna, "not a link that I can use")
	w.presses(anna, "⬇️ audio")
	w.sees(anna, "· audio\n\nSend me a magnet link")
	w.writes(anna, "en", "magnet:?dn=x")
	w.sees(anna, "⚠️ This is not a link", "· audio\n\nSend me a magnet link")
	w.presses(anna, "⬅️ Back")
	w.sees(anna, "audio: none yet", "dm:1:text")
	w.presses(anna, "⬇️ audio")
	w.writes(anna, "en", otherMagnet)
	card := w.sees(anna, "✅ Download #1 has started.", "📥 #1 (audio)", "🕓 Waiting to start")
	if strings.Contains(card.Text, "Send me") {
		t.Error("it asks on:", card.Text)
	}

	w.sees(anna, "📥 #1 <b>Wheels &amp; &lt;Carts&gt;</b> (audio)", "✖️ Cancel")
	if jobs := w.downloads(); len(jobs) != 1 || jobs[0].MediaType != download.MediaAudio || jobs[0].SourceURL != otherMagnet || jobs[0].UserID != w.user(anna).ID {
		t.Errorf("%+v", jobs)
	}

	w.writes(anna, "en", "wheels") // the question has ended: words search files again
	w.sees(anna, "🔎 <b>wheels</b>", "No file has this in its name")

	// A link out of the blue is for a book that is chosen afterwards.
	w.writes(boris, "ru", "/books")
	w.sees(boris, "📚 <b>Книги</b>", "Wheels & <Carts> — A. Cartwright")
	w.writes(boris, "ru", "magnet:?xt=urn:btih:abc") // nobody is asked which book it is for
	w.sees(boris, "Такая ссылка не подходит")
	w.writes(boris, "ru", "http://example.org/a.torrent")
	asked := w.sees(boris, "Для какой книги ваша ссылка?", "Wheels & <Carts> — A. Cartwright")
	if messages := w.messages(boris); messages[len(messages)-1].MessageID != asked.MessageID {
		t.Errorf("the answer to a link is not below it: %+v", messages)
	}
	w.writes(boris, "ru", "горы")
	w.sees(boris, "🔎 <b>горы</b>", "В библиотеке её пока нет")
	w.writes(boris, "ru", "горы / Н. Горный")
	w.presses(boris, "➕ Добавить «горы / Н. Горный»")
	w.sees(boris, "📖 <b>горы</b>\nН. Горный", "Что по вашей ссылке?")
	w.writes(boris, "ru", "Аудио")
	w.sees(boris, "Загрузка №2 началась")
	if jobs := w.downloads(); len(jobs) != 2 || jobs[1].BookID != 2 || jobs[1].MediaType != download.MediaAudio || jobs[1].SourceURL != "http://example.org/a.torrent" {
		t.Errorf("%+v", jobs)
	}
}

func TestWhatADownloadCommandUnderstands(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)
	for _, title := range []string{"War and Peace", "War of the Worlds", "Audio", "1984"} {
		w.addsBook(boss, title, "")
	}

	begun := func(book int64, medium string) {
		t.Helper()
		jobs := w.downloads()
		last := jobs[len(jobs)-1]
		w.sees(anna, "Download #"+number64(last.ID)+" has started.")
		if last.BookID != book || last.MediaType != medium {
			t.Errorf("%+v", last)
		}
	}

	for _, c := range []struct {
		words, medium string
		book          int64
	}{
		{"/download #1 " + magnet, "text", 1},
		{"/download 1 " + magnet + " AUDIO", "audio", 1},
		{"/download worlds " + magnet, "text", 2},
		{"/download Audio " + magnet, "text", 3},
		{"/download 1984 " + magnet + " аудио", "audio", 4},
	} {
		before := len(w.downloads())
		w.writes(anna, "en", c.words)
		w.eventually("a download by "+c.words, func() bool { return len(w.downloads()) > before })
		begun(c.book, c.medium)
	}

	w.writes(anna, "en", "/download #1 "+magnet)
	w.sees(anna, "✅ This is download #1, which you have already requested.")
	w.writes(anna, "en", "/download #1 "+otherMagnet)
	w.sees(anna, "⚠️ Download #1 is in progress from another link. Cancel it to use this one.")

	w.writes(anna, "en", "/download war "+magnet+" audio") // two books match
	w.sees(anna, "🔎 <b>war</b>", "War and Peace", "War of the Worlds")
	w.presses(anna, "War of the Worlds")
	w.eventually("a download", func() bool { return len(w.downloads()) == 6 })
	begun(2, "audio")

	w.writes(anna, "en", "/download 4 audio")
	w.sees(anna, "<b>1984</b> · audio", "Send me a magnet link")
	w.writes(anna, "en", "/download 4 ftp://a/b")
	w.sees(anna, "⚠️ This is not a link", "<b>1984</b> · text")
	w.writes(anna, "en", "/download none "+magnet)
	w.sees(anna, "🔎 <b>none</b>", "not in the library yet", "➕ Add “none”")
	for _, c := range [][2]string{{"/book 99", "📚 <b>Books</b>"}, {"/download 99 " + magnet, "Which book is your link for?"}} {
		w.writes(anna, "en", c[0])
		list := w.sees(anna, "⚠️ There is no book 99.", c[1], "1984", "Choose a book")
		if strings.Contains(fmt.Sprint(list), "➕") { // a number is not proposed as a title
			t.Errorf("%s: %+v", c[0], list)
		}
	}
	w.presses(anna, "1984") // the link was kept
	w.eventually("a download", func() bool { return len(w.downloads()) == 7 })
	begun(4, "text")
	w.writes(boris, "ru", "/download 99 "+magnet)
	w.sees(boris, "⚠️ Книги 99 нет.", "Для какой книги ваша ссылка?")
	w.writes(anna, "en", "/book new  ")
	w.sees(anna, "A book has a title")
	w.writes(anna, "en", "/book new / nobody")
	w.sees(anna, "A book has a title")
	w.writes(anna, "en", "/book new "+strings.Repeat("x", 501))
	w.sees(anna, "A book has a title")
	if len(w.downloads()) != 7 {
		t.Errorf("%d downloads", len(w.downloads()))
	}

	for i := range 9 {
		w.addsBook(boss, "Volume "+number64(int64(i)), "")
	}

	w.writes(anna, "en", "/books volume")
	w.sees(anna, "Volume 8", "Volume 1", "Older")
	w.presses(anna, "Older")
	w.presses(anna, "Volume 0")
	w.sees(anna, "<b>Volume 0</b>", "Book 5")
	w.presses(anna, "📚 Books")
	w.sees(anna, "📚 <b>Books</b>", "Volume 8")
	w.presses(anna, "Older")
	w.sees(anna, "1984", "Newest")
}

// TestOneAnswerOneDownload crashes the process before it records that an answer was handled; the download fails
// meanwhile.
func TestOneAnswerOneDownload(t *testing.T) {
	t.Parallel()
	w, stop := newReader(t)
	book := w.addsBook(boss, "Wheels", "")
	w.addsBook(boss, "Carts", "")
	stop()
	handle := func(update telego.Update) {
		t.Helper()
		w.handles(w.bot(), update)
	}

	memory := func() notice.Conversation {
		t.Helper()
		c, err := w.store.Notices.Conversation(t.Context(), anna)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}

	three := func(update telego.Update) {
		t.Helper()
		before := memory()
		for range 3 {
			if err := w.store.Notices.SaveConversation(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			handle(update)
			if jobs := w.downloads(); jobs[len(jobs)-1].State == lifecycle.DownloadQueued {
				w.fails(jobs[len(jobs)-1], string(fault.EnqueueFailed))
			}
		}
	}

	three(message(200_000_001, anna, "/download "+number64(book.ID)+" "+magnet))
	handle(message(200_000_002, anna, otherMagnet))
	handle(pressOf(200_000_003, anna, "bk:2", memory().MessageID))
	three(pressOf(200_000_004, anna, "dm:2:audio", memory().MessageID))
	jobs := w.downloads()
	if len(jobs) != 2 {
		t.Fatalf("%d downloads", len(jobs))
	}

	three(pressOf(200_000_005, anna, "dr:"+number64(jobs[0].ID), 1))
	handle(pressOf(200_000_006, anna, "dr:"+number64(jobs[0].ID), 1)) // pressed again
	if n := len(w.downloads()); n != 3 {
		t.Errorf("%d downloads", n)
	}

	for _, foreign := range []int64{boris, boss} { // not even for an administrator
		handle(pressOf(200_000_007, foreign, "dr:"+number64(jobs[0].ID), 1))
	}

	if n := len(w.downloads()); n != 3 {
		t.Errorf("%d downloads", n)
	}
}

func TestListingAndCancellingDownloads(t *testing.T) {
	t.Parallel()
	w, _ := newReader(t)
	w.writes(anna, "en", "/downloads")
	w.sees(anna, "<b>Your downloads</b>", "No downloads yet: /books")
	var jobs []download.Download
	for _, title := range []string{"A", "B", "C", "D", "E", "F", "G"} {
		jobs = append(jobs, w.starts(anna, w.addsBook(boss, title, "")))
	}

	foreign := w.starts(boss, w.addsBook(boss, "Secret", ""))
	w.writes(anna, "en", "/downloads")
	list := w.sees(anna, "📥 #7 <b>G</b> (text)\n🕓 Waiting to start", "📥 #2 <b>B</b>", "✖️ Cancel #7", "Older", "🔄 Refresh")
	if strings.Contains(list.Text, "Secret") || strings.Contains(list.Text, "#1 ") {
		t.Error(list.Text)
	}

	w.presses(anna, "Older")
	w.sees(anna, "📥 #1 <b>A</b>", "Newest")
	w.presses(anna, "Newest")
	w.sees(anna, "✖️ Cancel #7")
	menu, err := w.store.Notices.Conversation(t.Context(), anna)
	if err != nil {
		t.Fatal(err)
	}
	w.handlesBeside(w.bot(), pressOf(200_000_000, anna, "dx:7", menu.MessageID))

	w.sees(anna, "<b>Your downloads</b>", "📥 #7 <b>G</b> (text)\n🕓 Waiting to start\n🚫 cancelling…")
	w.cancels(jobs[6], &jobs[6].UserID, string(fault.CancelledByUser))
	w.presses(anna, "🔄 Refresh")
	w.sees(anna, "<b>Your downloads</b>", "📥 #7 <b>G</b> (text)\n🚫 Cancelled")

	// Other people's downloads are out of reach, and ended ones stay ended.
	for i, c := range [][2]string{
		{"dx:" + number64(foreign.ID), "No such download"},
		{"dx:99", "No such download"},
		{"dx", "No such download"},
		{"dr:" + number64(foreign.ID), "No such download"},
		{"dm:1:video", "out of date"},
		{"dm", "out of date"},
		{"bk:99", "No such book"},
		{"bn", "out of date"},
		{"dx:7", "already ended"},
	} {
		w.answersPress(pressOf(200_000_001+i, anna, c[0], 1), anna, c[1])
	}

	if now, err := w.store.Downloads.ByID(t.Context(), foreign.ID); err != nil || now.CancelRequestedAt != nil {
		t.Error(now, err)
	}

	w.presses(boss, "dx:"+number64(foreign.ID))
	w.notes(boss, "is being cancelled")
	// an administrator may
	w.handlesBeside(w.bot(), pressOf(200_000_000, boss, "dx:6", 1))
	if now, err := w.store.Downloads.ByID(t.Context(), 6); err != nil || now.CancelRequestedAt == nil || !w.audited("bot:/downloads", "download/6", account.OutcomeDone) {
		t.Error(now, err)
	}
}

func TestACancelThatIsNotConfirmedYet(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bot()
	w.run(b)
	w.known(anna, "en")
	job := w.starts(anna, w.addsBook(anna, "Wheels", ""))
	w.away.Store(1)
	w.stuck = fault.ProviderUnavailable

	w.presses(anna, "dx:1")
	w.notes(anna, "Download #1 will be cancelled.")
	live := w.sees(anna, "📥 #1", "🚫 cancelling…\nThe download program is unavailable")
	if len(live.Buttons) != 0 {
		t.Errorf("the live message: %+v", live)
	}

	w.cancels(job, &job.UserID, string(fault.CancelledByUser))
	w.sees(anna, "📥 #1", "🚫 Cancelled")
}

func TestWhereThereAreNoDownloads(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bot()
	w.services.Downloads.Off = true
	w.run(b)
	w.known(anna, "en")
	w.addsBook(anna, "Wheels", "")
	w.writes(anna, "en", "/download 1 "+magnet)
	w.sees(anna, "Downloads are switched off here.")
}

func TestADownloadWaitsForTemporal(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.temporal.ExpectedCalls = slices.DeleteFunc(
		w.temporal.ExpectedCalls, func(c *mock.Call) bool { return c.Method == "ExecuteWorkflow" },
	)

	w.temporal.On(
		"ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything,
	).Return(nil, serviceerror.NewUnavailable("none"))
	w.run(w.bot())
	w.known(anna, "en")
	w.addsBook(anna, "Wheels", "")
	w.writes(anna, "en", "/download 1 "+magnet)
	w.sees(anna, "Download #1 has started.") // it is recorded; the reconciler starts it
	w.sees(anna, "📥 #1 <b>Wheels</b>", "🕓 Waiting to start")
}
