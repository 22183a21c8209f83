package bot

import (
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// TestMute mutes and unmutes a task, by button and by command, and what agents do.
func TestMute(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	noisy := w.task(boss, space, task.NewTask{Title: "Noisy thing"})
	quiet := w.task(boss, space, task.NewTask{Title: "Quiet thing"})
	hears := func(comment string, want bool) {
		t.Helper()
		w.does(anna, noisy, "comment", comment)
		w.does(anna, quiet, "comment", comment+" elsewhere")
		w.sees(boss, "#2 ", comment+" elsewhere")
		w.eventually("a decision about "+comment, func() bool { return !strings.Contains(strings.Join(w.noticeStates(), ","), "due") })
		if got := len(w.notified(boss, comment+"</i>")) == 1; got != want {
			t.Errorf("%s: notified: %t", comment, got)
		}
	}

	hears("one", true)
	w.presses(boss, "tq:1")
	w.notes(boss, "No more messages about #1")
	w.presses(boss, "tq:1")
	w.notes(boss, "No more messages about #1")
	hears("two", false)
	w.writes(boss, "en", "/unmute 1")
	w.sees(boss, "messages about #1 again")
	hears("three", true)
	w.writes(boss, "en", "/mute")
	w.sees(boss, "/mute 12")
	w.writes(boris, "ru", "/mute 99")
	w.sees(boris, "Такой задачи нет")

	owner := w.user(anna).ID
	agent, err := w.store.Accounts.CreateAgent(t.Context(), owner, "Robot", account.Token{Name: "robot", Scopes: account.Scopes}, account.NewToken())
	w.must(err)
	w.must(w.store.Tasks.AddMember(t.Context(), space.OwnerID, space.ID, agent.ID))
	says := func(comment string) {
		t.Helper()
		_, err := w.services.Tasks.Comment(t.Context(), agent, quiet.ID, comment, "")
		w.must(err)
	}
	says("beep one")
	w.sees(boss, "beep one")
	w.writes(boss, "en", "/mute agents")
	w.sees(boss, "No more messages about what agents do")
	says("beep two")
	hears("four", true)
	if len(w.notified(boss, "beep two")) != 0 {
		t.Error("a muted agent is heard")
	}
	w.writes(boss, "en", "/unmute agents")
	w.sees(boss, "what agents do again")
	says("beep three")
	w.sees(boss, "beep three")
}

// TestLanguage keeps the language that a person has chosen, whatever their Telegram language.
func TestLanguage(t *testing.T) {
	t.Parallel()
	w, _, _ := newTeam(t)
	w.writes(boris, "en", "/help")
	w.sees(boris, "/language — English or Russian") // Telegram's language
	w.writes(boris, "en", "/language")
	w.presses(boris, "ln:ru")
	w.sees(boris, "Теперь пишу вам по-русски")
	w.writes(boris, "en", "/task")
	w.sees(boris, "Ваши задачи")
	w.writes(boris, "en", "/language")
	w.presses(boris, "ln:en")
	w.sees(boris, "From now on I write to you in English")
	w.writes(boris, "ru", "/task")
	w.sees(boris, "Your tasks")
}

// TestAnswersStay keeps answers in the chat when the next menu comes; only an unanswered question disappears.
func TestAnswersStay(t *testing.T) {
	t.Parallel()
	w, _, _ := newTeam(t)
	w.writes(anna, "en", "/task new A")
	w.sees(anna, "✅ The task is created.")
	w.writes(anna, "en", "/jobs")
	w.sees(anna, "deliveries")
	w.writes(anna, "en", "/claim 1")
	w.sees(anna, "Claim: write a comment")
	w.writes(anna, "en", "/ready")
	w.sees(anna, "Ready to claim", "t:1")
	w.sees(anna, "✅ The task is created.")
	w.sees(anna, "deliveries")
	w.eventually("the end of the question", func() bool {
		return !slices.ContainsFunc(w.messages(anna), func(m telegramsim.Message) bool { return strings.Contains(m.Text, "write a comment") })
	})
}

// TestDoneProposesAComment completes a task with two presses, and takes any other comment too.
func TestDoneProposesAComment(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	for person, said := range map[int64][2]string{anna: {"en", "Done, nothing to add."}, boris: {"ru", "Сделано, добавить нечего."}} {
		id := w.user(person).ID
		made := w.task(boss, space, task.NewTask{Title: "Easy thing", AssigneeID: &id})
		w.does(person, made, "IN_PROGRESS", "go")
		w.writes(person, said[0], "/task "+number64(made.ID))
		w.presses(person, "ta:"+number64(made.ID)+":DONE")
		w.presses(person, said[1])
		w.sees(person, "✅", "</b>: "+said[1])
	}
}

// TestConfirmAlone says what /confirm is for.
func TestConfirmAlone(t *testing.T) {
	t.Parallel()
	w, _, _ := newTeam(t)
	w.writes(anna, "en", "/confirm")
	w.sees(anna, "with the code that a page in your browser shows")
	w.writes(boris, "ru", "/confirm")
	w.sees(boris, "с кодом, который показывает страница")
	w.writes(boris, "ru", "привет")
	w.sees(boris, "/help")
}
