package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/allowance"
	"stagecoach/internal/store/account"
)

// TestMadeUpCookiesAreBounded sends cookies of no session from one address: only a few are looked up, and none that
// does not have the form of our secrets. Users at this address stay signed in.
func TestMadeUpCookiesAreBounded(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.signIn()
	stranger := w.browser()

	before := w.trips.Count()
	for _, value := range []string{"x", strings.Repeat("A", 51), strings.Repeat("A", 53), strings.Repeat("a", 52), strings.Repeat("A", 4000)} {
		w.as(stranger, "GET", "/account", "Cookie", "stagecoach="+value).want(http.StatusSeeOther)
	}
	if n := w.trips.Count() - before; n != 0 {
		t.Errorf("%d round trips for cookies that no page has set", n)
	}

	const cookies, burst = 300, 5
	began, refused := time.Now(), 0
	for range cookies {
		answer := w.as(stranger, "GET", "/account", "Cookie", "stagecoach="+account.NewSecret())
		if answer.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}

	most := burst + int(time.Since(began).Seconds()) + 2
	if n := w.trips.Count() - before; n > most {
		t.Errorf("%d round trips for %d made-up cookies, want at most %d", n, cookies, most)
	}
	if refused < cookies-most {
		t.Errorf("%d of %d made-up cookies are refused", refused, cookies)
	}

	w.send("GET", "/account", nil).want(http.StatusOK)
}

// TestRateLimitedClientIsNotLookedUp floods the pages and the API with one user's cookie and token.
func TestRateLimitedClientIsNotLookedUp(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.signIn()
	w.api.Requests = allowance.NewUsers(1)
	for name, send := range map[string]func() reply{
		"cookie": func() reply { return w.send("GET", "/account", nil) },
		"token":  func() reply { return w.as(w.browser(), "GET", "/v1/notes", "Authorization", "Bearer "+w.token) },
	} {
		for send().StatusCode != http.StatusTooManyRequests {
		}

		const more, trips = 100, 4 // of one lookup, and of one refusal
		began, before := time.Now(), w.trips.Count()
		for range more {
			send()
		}
		most := trips * (int(time.Since(began).Seconds()) + 2)
		if n := w.trips.Count() - before; n > most {
			t.Errorf("%s: %d round trips for %d requests above the rate, want at most %d", name, n, more, most)
		}
	}
}

// as sends a request from another browser.
func (w *rig) as(browser *http.Client, method, path, header, value string) reply {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.url+path, nil)
	w.must(err)
	r.Header.Set(header, value)
	answer, err := browser.Do(r)
	w.must(err)
	_ = answer.Body.Close()
	return reply{Response: answer, t: w.T}
}
