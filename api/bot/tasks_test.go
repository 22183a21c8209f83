package bot

import (
	"slices"
	"strings"
	"testing"

	"github.com/mymmrac/telego"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// newTeam returns a rig with a running bot, and a workspace of the boss, Anna and Boris.
func newTeam(t *testing.T) (*rig, task.Workspace, func()) {
	t.Helper()
	w := newRig(t)
	stop := w.run(w.bot())
	w.known(boss, "en")
	w.known(anna, "en")
	w.known(boris, "ru")
	return w, w.space(boss, anna, boris), stop
}

func TestATaskIsClaimedByItsCard(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	made := w.task(
		boss, space,
		task.NewTask{
			Title: "Paint <the> fence", Description: "Green & quick", Priority: task.PriorityHigh, Labels: []string{"garden"},
		},
	)

	w.writes(anna, "en", "/task 1")
	card := w.sees(
		anna, "#1 <b>Paint &lt;the&gt; fence</b>", "🆕 new · ❗ high priority", "Assignee: nobody", "Deadline: ",
		"Green &amp; quick", "garden",
	)
	if findButton(card, "ta:1:DONE") != "" || findButton(card, "ta:1:CANCELLED") != "" {
		t.Errorf("the buttons: %v", card.Buttons)
	}

	w.presses(anna, "ta:1:claim")
	w.sees(anna, "✋ Claim: write a comment")
	w.writes(anna, "en", "I have paint")
	card = w.sees(
		anna, "✅ Done.", "▶️ in progress", "Assignee: you", "<b>you</b>: I have paint", "ta:1:DONE", "ta:1:BLOCKED",
		"ta:1:NEW",
	)

	if got := w.reload(made); !got.HeldBy(w.user(anna).ID) {
		t.Errorf("the task: %+v", got)
	}

	w.writes(anna, "en", "/claim 1")
	w.sees(anna, "⚠️ It is already yours.", "Assignee: you")
	w.writes(anna, "en", "fence") // the question has ended: words search files again
	w.sees(anna, "🔎 <b>fence</b>")

	w.writes(boris, "ru", "/task №1")
	w.sees(boris, "№1 <b>Paint", "▶️ в работе", "ta:1:escalate", "ta:1:comment")
	w.presses(boris, "💬 Комментарий")
	w.sees(boris, "напишите комментарий")
	w.writes(boris, "ru", "Красиво!")
	w.sees(boris, "✅ Комментарий добавлен.", "<b>вы</b>: Красиво!")
	w.presses(boris, "ta:1:escalate")
	w.writes(boris, "ru", "Краска кончилась")
	w.sees(boris, "⛔ заблокирована", "Краска кончилась")
	if got := w.events(made); !slices.Equal(got, []string{"created", "claimed", "commented", "escalated"}) {
		t.Errorf("events: %v", got)
	}
}

func TestAQuestionEnds(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	annas := w.user(anna).ID
	made := w.task(boss, space, task.NewTask{Title: "Private thing", Visibility: task.Private, AssigneeID: &annas})
	ask := func() {
		w.writes(anna, "en", "/task 1")
		w.presses(anna, "ta:1:comment")
		w.sees(anna, "write a comment")
	}

	// whether it succeeds or not
	for words, command := range map[string]string{"one": "/help", "two": "/task cat", "three": "/task 99", "four": "/nonsense"} {
		ask()
		w.writes(anna, "en", command)
		w.writes(anna, "en", words)
		w.sees(anna, "🔎 <b>"+words+"</b>")
	}

	ask()
	w.writes(anna, "en", " ") // like a picture: without words
	w.sees(anna, "text and buttons only")
	w.writes(anna, "en", "hello")
	w.sees(anna, "✅ Your comment is added.")

	// After releasing a private task, a person no longer sees it.
	w.does(anna, made, "IN_PROGRESS", "go")
	w.writes(anna, "en", "/task")
	w.sees(anna, "Your tasks", "Private thing")
	w.writes(anna, "en", "/task 1")
	w.presses(anna, "ta:1:NEW")
	w.sees(anna, "Give back: write a comment")
	w.writes(anna, "en", "not for me")
	last := w.sees(anna, "✅ Done.")
	if strings.Contains(last.Text, "Private") {
		t.Error("she still sees it:", last.Text)
	}
	if got := w.reload(made); got.State != lifecycle.TaskNew || got.AssigneeID != nil {
		t.Errorf("the task: %+v", got.Snapshot)
	}

	w.writes(anna, "en", "/task")
	w.sees(anna, "You have no tasks")
}

func TestACommentThatComesAgainActsOnce(t *testing.T) {
	t.Parallel()
	w, space, stop := newTeam(t)
	made := w.task(boss, space, task.NewTask{Title: "Paint the fence"})
	stop()
	handle := func(updates ...telego.Update) {
		t.Helper()
		w.handles(w.bot(), updates...)
	}

	handle(message(200_000_001, anna, "/task 1"))
	menu, err := w.store.Notices.Conversation(t.Context(), anna)
	if err != nil {
		t.Fatal(err)
	}

	handle(pressOf(200_000_002, anna, "ta:1:comment", menu.MessageID))
	asked, err := w.store.Notices.Conversation(t.Context(), anna)
	if err != nil || !strings.HasPrefix(asked.Ask, "comment:") {
		t.Fatal(asked, err)
	}

	for range 3 { // each time the process crashes before it records that the update was handled
		handle(message(200_000_003, anna, "hello"))
		if err := w.store.Notices.SaveConversation(t.Context(), asked); err != nil {
			t.Fatal(err)
		}
	}

	claim := message(200_000_004, anna, "/claim 1 mine")
	before := asked
	before.Ask = ""
	for range 3 {
		if err := w.store.Notices.SaveConversation(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		handle(claim)
	}

	for range 2 {
		if err := w.store.Notices.SaveConversation(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		w.does(boss, made, "comment", "between") // what happened meanwhile changes nothing
		handle(message(200_000_005, anna, "/task new Mow the lawn"))
	}

	if got := w.events(made); !slices.Equal(got, []string{"created", "commented", "claimed", "commented", "commented"}) {
		t.Errorf("events: %v", got)
	}
	if tasks, _ := w.store.Tasks.List(t.Context(), task.Filter{Limit: 10}); len(tasks) != 2 {
		t.Errorf("%d tasks", len(tasks))
	}
}

func TestNewTasks(t *testing.T) {
	t.Parallel()
	w, first, stop := newTeam(t)
	w.known(400, "en")
	second := w.space(anna)
	w.writes(400, "en", "/task new Something to do")
	w.sees(400, "You are not in any workspace yet", number64(w.user(400).ID))
	w.writes(boris, "ru", "/task new Почта")
	w.sees(boris, "✅ Задача создана.", "<b>Почта</b>", "Автор: вы", "🗑 Отменить")
	w.writes(boris, "ru", "/task new "+strings.Repeat("ы", 201))
	w.sees(boris, "от 1 до 200")

	w.writes(anna, "en", "/task new Where: to?")
	w.sees(anna, "In which workspace should “Where: to?” be created?", "Space of 100", "Space of 200")
	w.writes(anna, "en", "/task") // does something else: the question has ended
	w.sees(anna, "You have no tasks")
	w.eventually("the question is gone", func() bool {
		return !slices.ContainsFunc(
			w.messages(anna), func(m telegramsim.Message) bool { return strings.Contains(m.Text, "In which workspace") },
		)
	})

	w.writes(anna, "en", "/task new Where: to?")
	choice := w.sees(anna, "Space of 200")
	button := findButton(choice, "Space of 200")
	stop()        // which would take the button away after the first press
	for range 2 { // a double press
		if err := w.telegram.Click(anna, button); err != nil {
			t.Fatal(err)
		}
	}
	w.run(w.bot())

	w.sees(anna, "The task is created", "Where: to?")
	w.eventually("an answer to each press", func() bool {
		answered := 0
		for _, c := range w.telegram.Callbacks() {
			if c.UserID == anna && c.AnsweredAt != nil {
				answered++
			}
		}
		return answered >= 2
	})

	for space, want := range map[int64]int{first.ID: 1, second.ID: 1} {
		if tasks, _ := w.store.Tasks.List(t.Context(), task.Filter{WorkspaceID: space, Limit: 10}); len(tasks) != want {
			t.Errorf("workspace %d has %d tasks", space, len(tasks))
		}
	}
}

func TestReadyTasks(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	w.known(400, "en")
	w.writes(anna, "en", "/ready")
	w.sees(anna, "Nothing can be claimed now")
	blocker := w.task(boss, space, task.NewTask{Title: "First things"})
	w.task(boss, space, task.NewTask{Title: "Second things", BlockedBy: []string{number64(blocker.ID)}})
	w.task(boss, space, task.NewTask{Title: "Private things", Visibility: task.Private})
	for range 8 { // one page
		w.task(boss, space, task.NewTask{Title: "Third things"})
	}

	w.writes(anna, "en", "/ready")
	list := w.sees(anna, "#11 Third things", "#4 Third", "✋ Claim #11", "Older")
	if strings.Contains(list.Text, "#1 ") || strings.Contains(list.Text, "Second") || strings.Contains(list.Text, "Private") {
		t.Error("the list:", list.Text)
	}

	w.presses(anna, "Older")
	w.sees(anna, "#1 First things", "Newest")
	w.presses(anna, "✋ Claim #1")
	w.writes(anna, "en", "on it")
	w.sees(anna, "#1 <b>First things", "in progress")
	w.writes(400, "en", "/ready") // not a member of this workspace
	w.sees(400, "Nothing can be claimed now")
	w.writes(anna, "en", "/task")
	w.sees(anna, "Your tasks", "#1 First things — ▶️ in progress")
}

func TestTaskRefusalsInPlainWords(t *testing.T) {
	t.Parallel()
	w, space, _ := newTeam(t)
	w.known(400, "en")
	taken := w.task(boss, space, task.NewTask{Title: "Taken thing"})
	w.does(boss, taken, "claim", "mine")
	w.task(boss, space, task.NewTask{Title: "Waiting thing", BlockedBy: []string{"1"}})
	w.task(boss, space, task.NewTask{Title: "Private thing", Visibility: task.Private})
	over := w.task(boss, space, task.NewTask{Title: "Over thing"})
	w.task(boss, space, task.NewTask{Title: "Hopeless thing", BlockedBy: []string{"1", "4"}})
	w.does(boss, over, "CANCELLED", "no need")

	for _, try := range []struct {
		person            int64
		language          string
		command, answered string
	}{
		{anna, "en", "/claim 1 I want it", "⚠️ It is already claimed by "},
		{boris, "ru", "/claim 1", "⚠️ Её уже взял(а) "},
		{anna, "en", "/claim 2 me", "⚠️ It waits for tasks that are not done: #1."},
		{boris, "ru", "/claim 2", "⚠️ Она ждёт задач, которые не сделаны: №1."},
		{anna, "en", "/claim 3 me", "No such task"},
		{anna, "en", "/task 3", "No such task"},
		{400, "en", "/task 1", "No such task"},
		{anna, "en", "/claim 4 me", "⚠️ This is not possible any more"},
		{anna, "en", "/claim 99 me", "No such task"},
		{anna, "en", "/claim me", "Give the task's number"},
		{anna, "en", "/task new", "Give the task's number"},
		{boris, "ru", "/task кот", "Укажите номер задачи"},
		{boss, "en", "/task 3", "Private thing"},
		{anna, "en", "/claim 5 me", "⚠️ It waits for a cancelled task and can never start: #4."},
		{boris, "ru", "/claim 5", "⚠️ Она ждёт отменённую задачу, и начать её нельзя: №4."},
	} {
		before := len(w.telegram.Chat(try.person).Messages)
		w.writes(try.person, try.language, try.command)
		w.eventually(try.command+" → "+try.answered, func() bool {
			for _, m := range w.telegram.Chat(try.person).Messages[before:] {
				if m.FromBot && strings.Contains(m.Text, try.answered) {
					return true
				}
			}
			return false
		})
	}

	annas := w.task(anna, w.space(anna), task.NewTask{Title: "Foreign thing"})
	w.writes(boss, "en", "/claim "+number64(annas.ID)+" as the boss")
	w.eventually(
		"an audit entry", func() bool { return w.audited("bot:/claim", "task/"+number64(annas.ID), account.OutcomeDone) },
	)
	if w.audited("bot:/claim", "task/1", account.OutcomeDone) {
		t.Error("a member's claim is no administrator's act")
	}

	// What was offered when the card was drawn may be gone when the button is pressed, or when the comment comes.
	free := w.task(boss, space, task.NewTask{Title: "Free thing"})
	w.writes(anna, "en", "/task "+number64(free.ID))
	w.presses(anna, "ta:7:claim")
	w.sees(anna, "write a comment")
	w.does(boris, free, "claim", "faster")
	w.writes(anna, "en", "mine")
	w.sees(anna, "⚠️ It is already claimed by ", "ta:7:escalate")
	w.writes(anna, "en", "mine") // the question has ended
	w.sees(anna, "🔎 <b>mine</b>")
	w.writes(boris, "ru", "/task 7")
	w.presses(boris, "ta:7:DONE")
	w.sees(boris, "напишите комментарий")
	w.writes(boris, "ru", "готово")
	w.sees(boris, "✅ сделана")
	if err := w.telegram.Click(boris, "ta:7:NEW"); err == nil {
		w.sees(boris, "⚠️ Это уже невозможно")
	}
}
