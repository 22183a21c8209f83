package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/night"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/store/account"
)

// TestNightSigningInWithAProvider follows a new person: they cancel at first, then choose who they are at the provider,
// wait, are approved, and sign in.
func TestNightSigningInWithAProvider(t *testing.T) {
	night.Only(t)
	t.Parallel()
	b := newBrowser(t, running.Info.API)
	b.open("/sign-in?next=/files")
	b.accessible("the page for signing in")
	b.press(`a[href^="/oidc"]`)
	b.shows("Who are you?")
	b.press(`button[value=""]`)
	b.shows("You cancelled at the provider")
	b.wantStatus(http.StatusForbidden)
	b.accessible("the page after a refusal")

	choose := func() {
		b.press(`a[href^="/oidc"]`)
		b.press(`button[value="boris"]`)
	}
	choose()
	b.shows("An administrator has to approve it")
	b.wantStatus(http.StatusForbidden)
	b.press(`footer button[value="ru"]`)
	b.shows("Войти через a simulator")
	b.press(`footer button[value="en"]`)

	announced := func() bool {
		return slices.ContainsFunc(running.Telegram.Chat(1000).Messages, func(m telegramsim.Message) bool { // of the administrator
			return strings.Contains(m.Text, "Boris Petrov")
		})
	}
	wait.Eventually(t, "the administrator gets a message", announced)
	approve(t, "Boris Petrov")
	choose()
	b.shows("small.txt") // the page to which the first button led
	if at := evaluate[string](b, `location.pathname + location.search`); at != "/files" {
		t.Errorf("the browser is at %s", at)
	}
	b.press(".who")
	b.shows("this browser")
	b.press(`button[name="all"]`)
	b.open("/files")
	b.shows("Sign in with a simulator")
}

// approve admits somebody who waits for approval.
func approve(t *testing.T, name string) {
	t.Helper()
	waiting, err := client.Ask[shape.Page[shape.User]](t.Context(), root(), client.Call{
		Method: http.MethodGet, Path: "/v1/users", Query: url.Values{"status": {account.UserPending}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range waiting.Items {
		if strings.HasPrefix(user.Name, name) {
			_, err := client.Ask[shape.User](t.Context(), root(), client.Call{
				Method: http.MethodPatch, Path: "/v1/users/" + user.ID, Body: map[string]string{"status": account.UserActive},
			})
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s does not wait: %+v", name, waiting.Items)
}
