package pages

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"stagecoach/api/shape"
	"stagecoach/dev/night"
)

// TestABookIsCorrectedOnItsPage corrects and deletes a book that was added with a mistake.
func TestABookIsCorrectedOnItsPage(t *testing.T) {
	t.Parallel()
	for language, said := range night.Cases(t, map[string]string{
		"en": "Correct or delete the book", "ru": "Исправить или удалить книгу",
	}, "en") {
		b := signedIn(t, running.Info.UserToken)
		b.press(`footer button[value="` + language + `"]`)
		book := send[shape.Book](t, "/v1/books", map[string]string{"title": "A slip in " + language})
		b.open("/books/" + book.ID)
		b.click(`//summary[contains(., "` + said + `")]`)
		b.accessible("the form of a book")
		b.clear("#title")
		b.fill("#title", "A slip in "+language+" mended")
		b.press(`form[action$="/change"] button`)
		b.shows("A slip in " + language + " mended")
		b.click(`//summary[contains(., "` + said + `")]`)
		b.must(chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(`form[action$="/delete"] input[type=checkbox]`))))
		b.press(`form[action$="/delete"] button`)
		b.eventually(`location.pathname == "/books"`)
		b.open("/books/" + book.ID)
		b.refused("BOOK_NOT_FOUND")
		b.wantStatus(http.StatusNotFound)
	}
}

// TestTasksAtHand finds tasks by words, sees on a board how many there are, claimable ones first, and how far away a
// deadline is, and completes a task with the proposed comment.
func TestTasksAtHand(t *testing.T) {
	t.Parallel()
	for language, said := range night.Cases(t, map[string]struct{ left, date, done, new string }{
		"en": {`^1 h (30|2\d) min left$`, `^\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d$`, "Done, nothing to add.", "new"},
		"ru": {`^осталось 1 ч (30|2\d) мин$`, `^\d\d\.\d\d\.\d{4} \d\d:\d\d$`, "Сделано, добавить нечего.", "новая"},
	}, "ru") {
		o := newOffice(t, 90)
		one := send[shape.Task](t, "/v1/tasks", map[string]any{"workspace_id": o.ID, "title": "Ё"})
		waits := send[shape.Task](t, "/v1/tasks", map[string]any{"workspace_id": o.ID, "title": "A roof", "description": "of reed", "blocked_by": []string{one.ID}})

		b := signedIn(t, running.Info.UserToken)
		b.press(`footer button[value="` + language + `"]`)
		b.open("/tasks/workspaces/" + o.ID)
		b.accessible("a board")
		column := evaluate[string](b, `document.querySelector(".board section").innerText`)
		if first, second := strings.Index(column, "Ё"), strings.Index(column, "A roof"); !strings.HasPrefix(column, said.new+" 2") || first < 0 || first > second {
			t.Errorf("the column is\n%s", column)
		}

		b.open("/tasks?workspace=" + o.ID)
		b.fill(`input[name="q"]`, "REED roof")
		b.press(`form[action="/tasks"] button`)
		b.shows("A roof")
		if rows := evaluate[int](b, `document.querySelectorAll(".rows li").length`); rows != 1 {
			t.Errorf("%d tasks are found", rows)
		}

		b.open("/tasks/" + one.ID)
		b.eventually(fmt.Sprintf(`new RegExp(%q).test(document.querySelector("time[data-countdown]").textContent)`, said.left))
		b.eventually(fmt.Sprintf(`new RegExp(%q).test(document.querySelector("time:not([data-countdown])").textContent)`, said.date))
		send[shape.Task](t, "/v1/tasks/"+one.ID+"/claim", map[string]string{"comment": "mine"})
		b.eventually(`[...document.querySelectorAll("button[value=DONE]")].some((button) => button.innerText.includes("` + said.done + `"))`)
		b.click(`//button[contains(., "` + said.done + `")]`)
		b.shows(said.done)
		b.eventually(`!document.querySelector("button[value=DONE]")`)
		b.open("/tasks/" + waits.ID)
		b.eventually(`!!document.querySelector("button[value=claim]")`)
	}
}

// TestTheConfirmationGoesOn sends the code of a page to the bot: the page continues by itself.
func TestTheConfirmationGoesOn(t *testing.T) {
	t.Parallel()
	b := signedIn(t, running.Info.UserToken)
	b.press(`footer button[value="ru"]`)
	b.open("/account")
	session := evaluate[string](b, `document.querySelector("input[name=session]").value`) // this browser's comes first
	sql(t, `UPDATE sessions SET confirmed_at = now() - interval '6 minutes' WHERE id::text = $1`, session)
	b.open("/confirm?next=/files")
	b.accessible("the confirmation")
	code := evaluate[string](b, `document.querySelector("code.copy").textContent`)
	answer, err := http.Post(running.Info.StandIns.Telegram+"/_/users/1001/messages", "application/json", strings.NewReader(`{"text":"`+code+`"}`))
	if err != nil || answer.StatusCode != http.StatusNoContent {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	b.eventually(`location.pathname == "/files"`)
}
