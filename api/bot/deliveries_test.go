package bot

import (
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

func TestTwoPressesOfOneButtonAreOneJob(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.catalog.add(t, "/a.txt", 10)
	stop := w.run(w.bot())
	w.writes(anna, "en", "/files")
	w.presses(anna, "a.txt")
	button := findButton(w.sees(anna, "Download"), "d:")
	stop()

	// Both presses are pending when the bot is back.
	for range 2 {
		if err := w.telegram.Click(anna, button); err != nil {
			t.Fatal(err)
		}
	}

	w.run(w.bot())
	w.notes(anna, "Delivery #1 has started")
	w.notes(anna, "which you have already requested")
	if jobs := w.jobs(); len(jobs) != 1 || jobs[0].Source != delivery.SourceBot {
		t.Fatalf("jobs: %+v", jobs)
	}

	fresh := findButton(w.sees(anna, "Download"), "d:")
	if fresh == button {
		t.Fatal("the button is the same after it was pressed")
	}

	w.presses(anna, fresh)
	w.eventually("a second job", func() bool { return len(w.jobs()) == 2 })
	w.notes(anna, "Delivery #"+number64(w.jobs()[0].ID)+" has started")
	w.temporal.AssertNumberOfCalls(t, "ExecuteWorkflow", 2)
}

func TestListingAndCancellingJobs(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	// No workflow is running: the record alone cancels.
	w.run(w.bot())
	w.writes(anna, "ru", "/jobs")
	w.sees(anna, "Доставок пока нет")
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "<l>"} {
		w.job(anna, name+".txt")
	}

	foreign := w.job(boss, "boss.txt")

	w.writes(anna, "ru", "/jobs")
	list := w.sees(anna, "№12 &lt;l&gt;.txt — 🕓 в очереди", "№3 c.txt", "✖️ Отменить №12", "Раньше")
	if strings.Contains(list.Text, "№2 ") || strings.Contains(list.Text, "boss.txt") {
		t.Error("the list is too long:", list.Text)
	}

	w.presses(anna, "Раньше")
	w.sees(anna, "№2 b.txt", "№1 a.txt", "Последние")
	w.presses(anna, "Последние")
	w.presses(anna, "✖️ Отменить №12")
	w.notes(anna, "Доставка №12 отменена")
	w.sees(anna, "№12 &lt;l&gt;.txt — 🚫 отменено")

	w.writes(anna, "ru", "/cancel #11")
	w.sees(anna, "Доставка №11 отменена")
	for command, answer := range map[string]string{
		"/cancel 11":                         "за это время всё завершилось",
		"/cancel 99":                         "Такой доставки нет",
		"/cancel":                            "Укажите номер",
		"/cancel x":                          "Укажите номер",
		"/cancel " + number64(foreign.ID):    "Такой доставки нет",
		"/cancel 99999999999999999999999999": "Укажите номер",
	} {
		before := len(w.messages(anna))
		w.writes(anna, "ru", command)
		w.eventually(command+" is answered "+answer, func() bool { // the jobs' own messages come in between
			return slices.ContainsFunc(
				w.messages(anna)[before:], func(m telegramsim.Message) bool { return strings.Contains(m.Text, answer) },
			)
		})
	}

	w.writes(boss, "en", "/cancel 10")
	w.sees(boss, "Delivery #10 is cancelled")
	w.eventually("an audit entry", func() bool { return w.audited("bot:/cancel", "delivery/10", account.OutcomeDone) })
	w.sees(anna, "🚫 Отменено", "j.txt")
}

func TestACancelWaitsForTemporal(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.away.Store(2)
	w.run(w.bot())
	w.writes(anna, "en", "/help")
	w.user(anna)
	job := w.job(anna, "a.txt")
	w.presses(anna, "c:"+number64(job.ID))
	w.notes(anna, "is cancelled")
	w.sees(anna, "a.txt", "🚫 Cancelled")
}
