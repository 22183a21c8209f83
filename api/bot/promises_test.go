package bot

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/store/account"
)

// promised matches texts that promise a message.
var promised = regexp.MustCompile(`(?i)\bI will write\b|\bwill be sent here once\b|\bhave been notified\b|\bnotifies the recipient\b`)

// TestEachPromiseOfAMessageIsTested lists every promise of a message with the test that proves it for each interface.
func TestEachPromiseOfAMessageIsTested(t *testing.T) {
	t.Parallel()
	kept := map[string]string{
		"I will write to you when you have access":    "TestAccessIsNotifiedFromEveryInterface",
		"I will write to you when that happens":       "TestAccessIsNotifiedFromEveryInterface",
		"It will be sent here once it is downloaded":  "TestABookIsSentHere",
		"The administrators have been notified":       "TestAlertsReachAdministratorsOnce",
		"The bot notifies the recipient of the Stars": "TestWhoIsNotifiedOfStars",
	}
	missing := maps.Clone(kept)
	for _, pattern := range []string{"*.go", "*/*.go", "../words/*.go", "../web/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, pair := range literals(t, file) {
				if !promised.MatchString(pair[0]) {
					continue
				}
				known := slices.IndexFunc(slices.Collect(maps.Keys(kept)), func(p string) bool { return strings.Contains(pair[0], p) })
				if known < 0 {
					t.Errorf("%s promises %q, and no test keeps it", file, pair[0])
				}
				maps.DeleteFunc(missing, func(p, _ string) bool { return strings.Contains(pair[0], p) })
			}
		}
	}
	for promise := range missing {
		t.Errorf("nothing promises %q any more", promise)
	}
}

// TestAccessIsNotifiedFromEveryInterface grants access through the code that every interface uses: a person who was promised
// a message gets exactly one.
func TestAccessIsNotifiedFromEveryInterface(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(*rig, account.User) error{
		"the page and the API": func(w *rig, user account.User) error {
			_, err := w.store.Accounts.ChangeUser(w.t.Context(), user.ID, account.UserChange{Status: account.UserActive})
			return err
		},
		"the bot": func(w *rig, user account.User) error {
			w.writes(boss, "en", "/approve "+number64(user.ID))
			return nil
		},
		"the settings": func(w *rig, user account.User) error {
			return w.store.Accounts.EnsureAdmins(w.t.Context(), "", []int64{boss, *user.TelegramID})
		},
		"the provider": func(w *rig, user account.User) error {
			admin := true
			i := account.Identity{Issuer: "https://id.example", Subject: "anna", TelegramID: user.TelegramID, Admin: &admin}
			return w.store.Accounts.SignInIdentity(w.t.Context(), i, account.NewToken(), time.Hour)
		},
	} {
		for language, said := range map[string][2]string{
			"en": {"I will write to you when you have access", "You have been approved"},
			"ru": {"Я напишу, когда доступ откроют", "Доступ открыт"},
		} {
			t.Run(name+" "+language, func(t *testing.T) {
				t.Parallel()
				w := newRig(t)
				w.options.ActivateAtOnce = false
				w.run(w.bot())
				w.writes(boss, "en", "/start")
				w.sees(boss, "Choose a file")
				w.writes(anna, language, "/start")
				w.sees(anna, said[0])

				for range 2 {
					w.must(give(w, w.user(anna)))
				}
				w.sees(anna, said[1], "f:")
				w.writes(anna, language, "/help")
				w.sees(anna, "/files")
				told := 0
				for _, m := range w.messages(anna) {
					if strings.Contains(m.Text, said[1]) {
						told++
					}
				}
				if told != 1 {
					t.Errorf("the person was told %d times", told)
				}
			})
		}
	}
}
