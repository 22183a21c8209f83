package pages

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"

	"stagecoach/api/shape"
	"stagecoach/dev/night"
)

// english matches four Latin letters in a row, which Russian pages only have in names.
var english = regexp.MustCompile(`[A-Za-z]{4,}`)

// TestFormsComeBack submits forms with invalid input, one of each kind, in both languages: they come back filled in,
// with the reason at the field, and going back after the corrected form opens a page.
func TestFormsComeBack(t *testing.T) {
	t.Parallel()
	for language, said := range night.Cases(t, map[string]map[string]string{
		"en": {"username": "A username has 4 to 32 Latin letters", "stars": "At least 50 and at most"},
		"ru": {"username": "В имени пользователя от 4 до 32", "stars": "За один раз продаётся от 50 до"},
	}, "ru") {
		b := signedIn(t, running.Info.UserToken)
		b.press(`footer button[value="` + language + `"]`)

		refused := func(field, why string) {
			t.Helper()
			b.refused("VALIDATION_ERROR")
			b.wantStatus(http.StatusUnprocessableEntity)
			b.eventually(`(() => { const field = document.querySelector("[name=` + field + `][aria-invalid]");
				return document.activeElement == field && document.getElementById(field.getAttribute("aria-describedby").split(" ")[0]).innerText.includes("` + why + `") })()`)
			b.accessible("a refused form")
			if problem := evaluate[string](b, `document.querySelector(".problem").innerText`); language == "ru" && english.MatchString(problem) {
				t.Errorf("the refusal is in English:\n%s", problem)
			}
		}
		send := func(form string, values map[string]string) {
			t.Helper()
			for name, value := range values {
				evaluate[any](b, `document.querySelector("`+form+` [name=`+name+`]").value = "`+value+`"; 0`)
			}
			evaluate[any](b, `document.querySelector("`+form+`").noValidate = true; 0`)
			b.press(form + " button")
		}
		keeps := func(field, value string) {
			t.Helper()
			if got := evaluate[string](b, `document.querySelector("[name=`+field+`]").value`); got != value {
				t.Errorf("%s came back as %q", field, got)
			}
		}

		const pay = "form[action='/stars/pay']"
		b.open("/stars")
		send(pay, map[string]string{"username": "no", "stars": "60"})
		refused("username", said["username"])
		keeps("username", "no")
		keeps("stars", "60")
		send(pay, map[string]string{"username": "durov_x", "stars": "10"})
		refused("stars", said["stars"])
		keeps("username", "durov_x")
		send(pay, map[string]string{"stars": "61"})
		b.shows("61")
		b.must(chromedp.Do(b.ctx, chromedp.NavigateBack()))
		b.eventually(`location.pathname == "/stars"`)

		// A posted form, and the page before it.
		b.open("/books/new")
		send("main form", map[string]string{"title": "\u200b", "author": "A. Cartwright"})
		b.refused("VALIDATION_ERROR")
		b.wantStatus(http.StatusUnprocessableEntity)
		keeps("author", "A. Cartwright")
		send("main form", map[string]string{"title": "A book that came back in " + language})
		b.shows("A book that came back")
		b.must(chromedp.Do(b.ctx, chromedp.NavigateBack()))
		b.eventually(`location.pathname == "/books/new" && !!document.querySelector("[name=title]")`)
	}
}

// TestStepsFollowTheTask has a comment begun while the task ends elsewhere: the buttons follow, the comment stays.
// Without scripts, the refusal of a stale button is about that button.
func TestStepsFollowTheTask(t *testing.T) {
	t.Parallel()
	for language, refusal := range night.Cases(t, map[string]string{
		"en": "so this is not possible any more", "ru": "Это уже невозможно",
	}, "en") {
		room := send[shape.Workspace](t, "/v1/workspaces", map[string]any{"name": "Steps"})
		begun := func() string {
			made := send[shape.Task](t, "/v1/tasks", map[string]any{"workspace_id": room.ID, "title": "A task that ends elsewhere"})
			send[shape.Task](t, "/v1/tasks/"+made.ID+"/claim", map[string]string{"comment": "I know this part"})
			return made.ID
		}
		ends := func(id string) {
			send[shape.Task](t, "/v1/tasks/"+id+"/status", map[string]string{"to": "DONE", "comment": "It is done"})
		}

		b := signedIn(t, running.Info.UserToken)
		b.press(`footer button[value="` + language + `"]`)
		id := begun()
		b.open("/tasks/" + id)
		b.isLive()
		b.fill("#comment", "half a sen")
		ends(id)
		b.eventually(`!document.querySelector("button[value=DONE]") && !!document.querySelector("button[value=comment]")`)
		if typed := evaluate[string](b, `document.querySelector("#comment").value`); typed != "half a sen" {
			t.Errorf("the comment is %q", typed)
		}

		b.withoutScripts()
		id = begun()
		b.open("/tasks/" + id)
		b.fill("#comment", "It is done")
		ends(id)
		b.press(`button[value="DONE"]`)
		b.shows(refusal)
		b.wantStatus(http.StatusConflict)
	}
}
