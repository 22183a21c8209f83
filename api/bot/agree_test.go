package bot

import (
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
)

// invited counts a person's messages about invitations, once nothing is left to send.
func (w *rig) invited(person int64) (messages int) {
	w.t.Helper()
	w.eventually("rest", func() bool {
		due, err := w.store.Notices.Due(w.t.Context(), []string{task.NoticesOfInvitations}, 10)
		return err == nil && len(due) == 0 && !slices.Contains(w.noticeStates(), notice.NoticeSending)
	})

	for _, m := range w.messages(person) {
		if strings.HasPrefix(m.Text, "✉️") {
			messages++
		}
	}
	return messages
}

// dayLater makes all notifications about invitations one day older, sent and pending ones.
func (w *rig) dayLater() {
	w.t.Helper()
	w.sql(`UPDATE news SET due_at = due_at - interval '1 day' WHERE workload = $1`, task.NoticesOfInvitations)
}

// ask invites a person to a workspace.
func (w *rig) ask(owner int64, space task.Workspace, person int64) {
	w.t.Helper()
	if _, err := w.services.Tasks.AddMember(w.t.Context(), w.user(owner), space.ID, w.user(person).ID); err != nil {
		w.t.Fatal(err)
	}
}

// TestAPersonIsAskedBeforeAnythingReachesThem invites Anna to a workspace: she learns who invites her and nothing about
// its tasks, and others see her name only after she has pressed the button.
func TestAPersonIsAskedBeforeAnythingReachesThem(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.known(boss, "en")
	w.known(anna, "en")
	w.known(boris, "ru")
	space := w.space(boss, boris)
	annaUser := w.user(anna)
	if _, err := w.store.Accounts.ChangeUser(t.Context(), annaUser.ID, account.UserChange{Name: "Anna <i>Arkadyevna"}); err != nil {
		t.Fatal(err)
	}

	w.ask(boss, space, anna)
	given := w.task(boss, space, task.NewTask{Title: "Given thing"})
	w.does(boris, given, "claim", "on it")
	w.sees(anna, "asks you to join the workspace", "Space of", "tg:"+number64(space.ID), "tf:"+number64(space.ID))
	if notified := w.notified(anna, ""); len(notified) != 0 {
		t.Errorf("who has not agreed is notified: %+v", notified)
	}
	w.writes(anna, "en", "/ready")
	if list := w.sees(anna, "Nothing can be claimed", "asks you to join"); strings.Contains(list.Text, "Given thing") {
		t.Errorf("who has not agreed sees %s", list.Text)
	}

	w.presses(anna, "tg:"+number64(space.ID))
	w.notes(anna, "You are a member now")
	w.does(anna, given, "comment", "looks good")
	w.writes(boris, "ru", "/task 1")
	w.sees(boris, "№1 <b>Given thing</b>", "Anna &lt;i&gt;Arkadyevna")
	w.does(boris, given, "comment", "thanks")
	w.sees(anna, "<i>thanks</i>")
}

// TestOneInvitationADayReachesAPerson has strangers invite Anna again and again: she gets one message a day, and none
// from people whose invitation she declined.
func TestOneInvitationADayReachesAPerson(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	for _, person := range []int64{anna, boris, boss} {
		w.known(person, "en")
	}

	told := func(messages int) {
		t.Helper()
		if got := w.invited(anna); got != messages {
			t.Errorf("she was told by %d messages, want %d", got, messages)
		}
	}

	first := w.spaceOf(boris)
	w.ask(boris, first, anna)
	told(1)
	second := w.spaceOf(boss)
	w.ask(boss, second, anna)
	w.ask(boris, first, anna)
	if err := w.store.Tasks.RemoveMember(t.Context(), first.ID, w.user(anna).ID); err != nil {
		t.Fatal(err)
	}
	w.ask(boris, first, anna) // withdrawn, and invited anew
	told(1)
	w.dayLater()
	told(2)

	for i, refused := range []task.Workspace{first, second} {
		w.writes(anna, "en", "/task")
		w.sees(anna, "You have no tasks", "tf:"+number64(refused.ID))
		w.presses(anna, "tf:"+number64(refused.ID))
		w.eventually("the answer to each refusal", func() bool { return w.noted(anna, "You have refused") > i })
	}
	w.ask(boris, first, anna)
	w.ask(boss, second, anna)
	w.dayLater()
	told(2)

	w.ask(boris, w.spaceOf(boris), anna)
	told(3)
}
