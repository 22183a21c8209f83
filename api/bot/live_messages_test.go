package bot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/notice"
)

// known introduces the bot to a person, so that it may write to them.
func (w *rig) known(person int64, language string) {
	w.t.Helper()
	w.writes(person, language, "/help")
	w.user(person)
	w.eventually("the language", func() bool { return w.user(person).Language == language })
	w.eventually("the answer", func() bool {
		return slices.ContainsFunc(w.messages(person), func(m telegramsim.Message) bool { return m.FromBot })
	})
}

// about returns the messages about a job.
func (w *rig) about(person int64, name string) (found []telegramsim.Message) {
	for _, m := range w.messages(person) {
		if strings.Contains(m.Text, name) {
			found = append(found, m)
		}
	}
	return found
}

// TestTheEndIsShownAtOnce throttles edits to one an hour: the final state does not wait for it.
func TestTheEndIsShownAtOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.EditEvery = time.Hour
	w.run(w.bot())
	w.known(anna, "en")
	job := w.job(anna, "film.mp4")
	w.sees(anna, "In the queue, place 1")
	w.moves(job.ID, func(j *delivery.Job) { j.State, j.MessageID = lifecycle.DeliveryDelivered, &j.ID })
	w.sees(anna, "✅ Delivered")
}

func TestALiveMessageFollowsItsJob(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.EditEvery = 2 * time.Second
	w.run(w.bot())
	w.known(anna, "ru")
	job := w.job(anna, "film.mp4")
	w.sees(anna, "№1 <b>film.mp4</b> (977 КБ)", "В очереди, место 1", "✖️ Отменить")
	w.moves(job.ID, func(j *delivery.Job) { j.State = lifecycle.DeliveryClaimed })
	w.sees(anna, "Открываю файл")
	w.moves(job.ID, func(j *delivery.Job) { j.State = lifecycle.DeliveryStreaming })
	for percent := range 50 {
		w.moves(job.ID, func(j *delivery.Job) { j.BytesSent = int64(percent * 20_000) })
		time.Sleep(50 * time.Millisecond)
	}

	w.sees(anna, "Отправляю: 98% (957 КБ из 977 КБ)", "▓")
	w.moves(job.ID, func(j *delivery.Job) { j.BytesSent = 1_000_000; now := time.Now(); j.AckPendingAt = &now })
	w.sees(anna, "Telegram загружает")
	w.moves(job.ID, func(j *delivery.Job) { j.CancelRequestedAt = &j.Now })
	if m := w.sees(anna, "отменяется"); len(m.Buttons) != 0 {
		t.Error("a job that is being cancelled can be stopped again")
	}

	w.moves(job.ID, func(j *delivery.Job) { j.State, j.MessageID = lifecycle.DeliveryDelivered, &j.ID })
	last := w.sees(anna, "✅ Доставлено")
	if len(last.Buttons) != 0 || len(w.about(anna, "film.mp4")) != 1 {
		t.Errorf("the live message: %+v", w.about(anna, "film.mp4"))
	}

	for i, edit := range last.Edits[1 : len(last.Edits)-1] { // all but the final one
		if gap := edit.At.Sub(last.Edits[i].At); gap < 1950*time.Millisecond {
			t.Errorf("edit %d came %v after the one before", i+1, gap)
		}
	}

	w.eventually("rest", func() bool {
		due, err := w.store.Notices.ClaimLiveMessages(t.Context(), 10, 0)
		return err == nil && len(due) == 0
	})
}

func TestHowLiveMessagesEnd(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.known(anna, "en")

	for name, end := range map[string]struct {
		state lifecycle.DeliveryState
		code  fault.Code
		shown []string
	}{
		"unknown.bin": {lifecycle.DeliveryFailed, fault.OutcomeUnknown, []string{"Not delivered", "Check this chat before you request it again"}},
		"locked.bin":  {lifecycle.DeliveryFailed, fault.YandexLocked, []string{"Not delivered", "The file is locked now"}},
		"weird.bin":   {lifecycle.DeliveryFailed, "something_else", []string{"Not delivered", "Internal error"}},
		"mine.bin":    {lifecycle.DeliveryCancelled, fault.CancelledByUser, []string{"🚫 Cancelled"}},
		"theirs.bin":  {lifecycle.DeliveryCancelled, fault.TerminatedByOperator, []string{"🚫 Cancelled", "An operator stopped it"}},
		"late.bin":    {lifecycle.DeliveryExpired, fault.NotClaimedInTime, []string{"Expired: it waited for too long"}},
	} {
		job := w.job(anna, name)
		w.sees(anna, name, "Cancel")
		w.moves(job.ID, func(j *delivery.Job) { j.State, j.LastError = end.state, string(end.code) })
		w.sees(anna, append(end.shown, name)...)
	}

	job := w.job(anna, "again.bin")
	w.moves(job.ID, func(j *delivery.Job) { j.Attempt, j.LastError = 1, string(fault.YandexUnavailable) })
	w.sees(anna, "again.bin", "Attempt 2 of 3", "The file storage is unavailable", "In the queue")
	next := time.Date(2030, 1, 1, 12, 0, 7, 0, time.UTC)
	w.moves(job.ID, func(j *delivery.Job) { j.NextAttemptAt, j.Claim = &next, 1 })
	w.sees(anna, "again.bin", "Next attempt at 12:00:07 UTC")
	w.moves(job.ID, func(j *delivery.Job) { j.LastError = string(fault.PausedByOperator) })
	w.sees(anna, "again.bin", "An operator paused it")

	for _, m := range w.messages(anna) {
		if strings.Contains(m.Text, "Yandex") || strings.Contains(m.Text, "disk:") {
			t.Error("the storage has a name:", m.Text)
		}
	}
}

func TestAnEndedJobWithoutALiveMessageIsShownOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	stop := w.run(w.bot())
	w.known(anna, "en")
	stop()
	job := w.job(anna, "quick.txt")
	w.moves(job.ID, func(j *delivery.Job) { j.State, j.MessageID = lifecycle.DeliveryDelivered, &j.ID })
	w.run(w.bot())
	m := w.sees(anna, "quick.txt", "Delivered")
	time.Sleep(time.Second)
	if len(w.about(anna, "quick.txt")) != 1 || len(m.Edits) != 0 {
		t.Errorf("the live message: %+v", w.about(anna, "quick.txt"))
	}
}

func TestALostAnswerNeverMakesASecondLiveMessage(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	stop := w.run(w.bot())
	w.known(anna, "en")
	stop()
	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "lost_answer", Times: 1})
	stop = w.run(w.bot())
	job := w.job(anna, "a.txt")
	w.sees(anna, "a.txt", "In the queue")
	w.moves(job.ID, func(j *delivery.Job) { j.State = lifecycle.DeliveryClaimed })
	time.Sleep(time.Second)
	stop()
	w.run(w.bot()) // nor does a new process
	time.Sleep(time.Second)
	if shown := w.about(anna, "a.txt"); len(shown) != 1 {
		t.Fatalf("the live message: %+v", shown)
	}

	w.moves(job.ID, func(j *delivery.Job) { j.State, j.MessageID = lifecycle.DeliveryDelivered, &j.ID })
	w.sees(anna, "a.txt", "Delivered")
	time.Sleep(time.Second)
	if shown := w.about(anna, "a.txt"); len(shown) != 2 {
		t.Errorf("the end was shown %d times", len(shown)-1)
	}
}

// obeyed checks that the first request of a method after one that was refused came two seconds later.
func (w *rig) obeyed(method string) {
	w.t.Helper()
	var refused time.Time
	for _, r := range w.telegram.Requests() {
		switch {
		case !strings.HasSuffix(r.Path, "/"+method):
		case r.Status == 429:
			refused = r.At
		case !refused.IsZero():
			if waited := r.At.Sub(refused); waited < 2*time.Second {
				w.t.Errorf("%s was repeated after %v", method, waited)
			}
			return
		}
	}
	w.t.Errorf("%s was not refused, or not repeated", method)
}

func TestFloodWaitIsObeyed(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.known(anna, "en")
	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "429", RetryAfter: 2, Times: 1})
	job := w.job(anna, "a.txt")
	w.sees(anna, "a.txt", "In the queue")
	w.obeyed("sendMessage")

	w.telegram.AddFault(sim.Fault{Match: "editMessageText", Kind: "429", RetryAfter: 2, Times: 1})
	w.moves(job.ID, func(j *delivery.Job) { j.State = lifecycle.DeliveryClaimed })
	w.eventually("a refusal", func() bool {
		return slices.ContainsFunc(
			w.telegram.Requests(), func(r sim.Request) bool { return r.Status == 429 && strings.Contains(r.Path, "edit") },
		)
	})

	w.moves(job.ID, func(j *delivery.Job) { j.State, j.MessageID = lifecycle.DeliveryDelivered, &j.ID }) // it becomes due
	w.sees(anna, "a.txt", "Delivered")
	w.obeyed("editMessageText")
	if shown := w.about(anna, "a.txt"); len(shown) != 1 {
		t.Errorf("the live message: %+v", shown)
	}
}

func TestLiveMessagesThatCannotBeEdited(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"blocked", "deleted", "500", "lost_answer"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newRig(t)
			w.run(w.bot())
			w.known(anna, "en")
			job := w.job(anna, "a.txt")
			w.sees(anna, "a.txt", "In the queue")

			if kind == "deleted" {
				live := w.about(anna, "a.txt")[0]
				b := w.bot()
				w.remove(b, anna, live.MessageID)
			} else {
				w.telegram.AddFault(sim.Fault{Match: "editMessageText", Kind: kind, Times: 1})
			}

			w.moves(job.ID, func(j *delivery.Job) { j.State, j.MessageID = lifecycle.DeliveryDelivered, &j.ID })
			switch kind {
			case "500", "lost_answer":
				w.sees(anna, "a.txt", "Delivered")
				w.eventually("rest", func() bool { return w.liveMessageState(job.ID) == notice.LiveMessageFinal })
			default:
				w.eventually("a lost live message", func() bool { return w.liveMessageState(job.ID) == notice.LiveMessageLost })
			}

			if shown := w.about(anna, "a.txt"); len(shown) > 1 {
				t.Errorf("the live message: %+v", shown)
			}
		})
	}
}
