package bot

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/sim"
	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
)

// noticeStates lists the recorded states of the notices.
func (w *rig) noticeStates() (states []string) {
	w.t.Helper()
	rows, err := testdb.DB(w.t, w.wire.URL).Query(w.t.Context(), `SELECT state FROM news ORDER BY user_id, workload, entity_id, seq`)
	if err != nil {
		w.t.Fatal(err)
	}

	states, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.t.Fatal(err)
	}
	return states
}

func TestWhoIsNotifiedOfAChange(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	annaID := w.user(anna).ID
	given := w.task(boss, space, task.NewTask{Title: "Given thing", AssigneeID: &annaID})
	w.sees(anna, "#1 <b>Given thing</b>", "🎁 ", " assigned this task to you.")
	w.does(anna, given, "IN_PROGRESS", "on <it>")
	w.sees(boss, "#1 <b>Given thing</b>", ": 🆕 new → ▶️ in progress", "<i>on &lt;it&gt;</i>")
	if got := append(w.notified(boris, ""), w.notified(anna, "in progress")...); len(got) != 0 {
		t.Errorf("notified without need: %+v", got)
	}

	w.does(boris, given, "comment", "looks good")
	w.sees(boss, "💬 ", " wrote:", "<i>looks good</i>")
	w.sees(anna, "<i>looks good</i>")
	w.does(anna, given, "DONE", "that was it")
	w.sees(boris, "№1 <b>Given thing</b>", "▶️ в работе → ✅ сделана", "that was it") // commenters get more notifications
	if n := len(w.notified(boss, "")); n != 3 {
		t.Errorf("the creator has %d notices", n)
	}
	if n := len(w.notified(anna, "")); n != 2 {
		t.Errorf("the assignee has %d notices", n)
	}

	w.presses(boris, "tn:1")
	w.sees(boris, "ta:1:comment", "Исполнитель: ")
	if len(w.taskNotices(boris)) != 1 {
		t.Error("the notice has gone")
	}
}

func TestExpiryReleaseAndReadiness(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	annaID := w.user(anna).ID
	first := w.task(boss, space, task.NewTask{Title: "First thing"})
	w.task(boss, space, task.NewTask{Title: "Given thing", AssigneeID: &annaID, BlockedBy: []string{"1"}})
	w.task(boss, space, task.NewTask{Title: "Free thing", BlockedBy: []string{"1"}})
	w.does(boris, first, "claim", "mine")
	w.expires(first)
	w.sees(boris, "№1 <b>First thing</b>", "⏰ Срок вышел. Была: ▶️ в работе, теперь застряла.")
	w.sees(boss, "⏰ Its deadline has passed. It was ▶️ in progress")
	w.does(boris, first, "IN_PROGRESS", "still here")
	w.does(boris, first, "DONE", "at last")
	w.sees(anna, "#2 <b>Given thing</b>", "🟢 All tasks that it waited for are done")
	if n := len(w.notified(anna, "🟢")) + len(w.notified(boss, "🟢")) + len(w.notified(boris, "🟢")); n != 1 {
		t.Errorf("%d people were notified that something is ready", n)
	}
}

// TestCreatorIsNotifiedThatTaskCannotStart cancels what another person's task depends on.
func TestCreatorIsNotifiedThatTaskCannotStart(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	first := w.task(boss, space, task.NewTask{Title: "First thing"})
	w.task(boris, space, task.NewTask{Title: "Next thing", BlockedBy: []string{"1"}})
	w.task(boss, space, task.NewTask{Title: "Own thing", BlockedBy: []string{"1"}})
	w.does(boss, first, "CANCELLED", "no need")
	w.sees(boris, "№2 <b>Next thing</b>", "⛔ Начать её нельзя: она ждёт отменённую задачу (№1).")
	if n := len(w.notified(boss, "⛔")) + len(w.notified(anna, "⛔")); n != 0 {
		t.Errorf("%d others were notified", n)
	}
}

func TestChangesAreGathered(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.GatherNotices = 2 * time.Second
	stop := w.run(w.bot())
	w.known(boss, "en")
	w.known(anna, "en")
	stop() // the changes are planned together, however long they take
	space := w.space(boss, anna)
	made := w.task(boss, space, task.NewTask{Title: "Busy thing"})
	other := w.task(boss, space, task.NewTask{Title: "Other thing"})
	w.does(anna, made, "claim", "mine")
	w.does(anna, other, "claim", "mine too")
	for range 9 {
		w.does(anna, made, "comment", "well")
	}

	w.does(anna, made, "DONE", "done")
	w.run(w.bot())
	w.sees(boss, "#1 <b>Busy thing</b>", "… and 3 more before that", "→ ✅ done")
	w.sees(boss, "#2 <b>Other thing</b>", "✋ ")
	if n := len(w.notified(boss, "")); n != 2 {
		t.Errorf("%d messages", n)
	}
}

func TestNoNoticeComesTwice(t *testing.T) {
	t.Parallel()
	w, space, stop := newTeam(t)
	made := w.task(boss, space, task.NewTask{Title: "Some thing"})
	w.does(anna, made, "claim", "one")
	w.sees(boss, "✋ ", "<i>one</i>")
	w.notified(boss, "")
	stop()
	w.does(anna, made, "comment", "two") // no process serves the bot
	stop = w.run(w.bot())
	w.sees(boss, "<i>two</i>")
	w.notified(boss, "")

	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "lost_answer", Times: 1})
	w.does(anna, made, "comment", "three")
	w.sees(boss, "<i>three</i>")
	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "429", RetryAfter: 1, Times: 1})
	w.does(anna, made, "comment", "four")
	w.sees(boss, "<i>four</i>")
	w.notified(boss, "")

	stop()
	w.does(anna, made, "comment", "five")
	b := w.bot() // crashes while it sends
	var due []notice.Notice
	w.eventually("a notice to send", func() bool { // other tests' database transactions may hold events back
		err := b.planNotices(t.Context())
		if err == nil {
			due, err = w.store.Notices.Due(t.Context(), []string{lifecycle.WorkloadTask}, 10)
		}
		return err == nil && len(due) == 1
	})

	if _, err := w.store.Notices.Take(t.Context(), &due[0]); err != nil {
		t.Fatal(err)
	}
	w.taken++

	w.run(w.bot())
	w.does(anna, made, "comment", "six")
	w.sees(boss, "<i>six</i>")
	for word, want := range map[string]int{"one": 1, "two": 1, "three": 1, "four": 1, "five": 0, "six": 1} {
		if n := len(w.notified(boss, "<i>"+word+"</i>")); n != want {
			t.Errorf("%q was notified %d times", word, n)
		}
	}

	w.eventually(
		"rest", func() bool { return strings.Join(w.noticeStates(), " ") == "sent sent unknown sent sending sent" },
	)
}

func TestWhoIsNoLongerNotified(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	open := w.task(anna, space, task.NewTask{Title: "Open thing"})
	w.does(boris, open, "comment", "hm")
	w.sees(anna, "<i>hm</i>")
	if _, err := w.store.Accounts.ChangeUser(t.Context(), w.user(boris).ID, account.UserChange{Status: account.UserBlocked}); err != nil {
		t.Fatal(err)
	}

	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "blocked", Times: 1})
	w.does(boss, open, "comment", "secret")
	w.eventually("two lost notices", func() bool {
		return strings.Join(w.noticeStates(), " ") == "sent lost lost"
	})
	if n := len(w.notified(boris, "")) + len(w.notified(anna, "secret")); n != 0 {
		t.Errorf("%d were notified", n)
	}
}
