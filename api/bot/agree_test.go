package bot

import (
	"strings"
	"testing"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// TestAMemberIsToldAndNamedOnceTheyAgree lets Anna into a workspace: she may act at once, is a number to others and
// hears nothing, until she presses the button that her lists show.
func TestAMemberIsToldAndNamedOnceTheyAgree(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.known(boss, "en")
	w.known(anna, "en")
	w.known(boris, "ru")
	space := w.letIn(boss, anna, boris)
	annaUser := w.user(anna)
	if _, err := w.store.ChangeUser(t.Context(), annaUser.ID, account.UserChange{Name: "Anna Arkadyevna"}); err != nil {
		t.Fatal(err)
	}

	given := w.task(boss, space, task.NewTask{Title: "Given thing", AssigneeID: &annaUser.ID})
	w.does(anna, given, "IN_PROGRESS", "on it")
	w.sees(boss, "Anna Arkadyevna", "in progress") // an administrator
	if notified := w.notified(anna, ""); len(notified) != 0 {
		t.Errorf("a member who has not agreed is notified: %+v", notified)
	}

	w.writes(boris, "ru", "/task 1")
	if card := w.sees(boris, "№1 <b>Given thing</b>", "Исполнитель: "); strings.Contains(card.Text, "Anna") {
		t.Errorf("named before she has agreed: %s", card.Text)
	}

	w.writes(boris, "ru", "/ready")
	w.sees(boris, "Вас добавили в «Space of", "tg:"+number64(space.ID))
	w.writes(anna, "en", "/task")
	w.sees(anna, "You were added to “Space of", "tg:"+number64(space.ID))
	w.presses(anna, "tg:"+number64(space.ID))
	w.notes(anna, "You have agreed")

	w.does(boris, given, "comment", "looks good")
	w.sees(anna, "#"+number64(w.user(boris).ID), "<i>looks good</i>")
	w.writes(boris, "ru", "/task 1")
	w.sees(boris, "Исполнитель: Anna Arkadyevna")
}
