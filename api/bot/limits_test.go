package bot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/allowance"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// flood handles messages of Telegram accounts, each in its own chat, bypassing the rate of getUpdates.
func (w *rig) flood(b *Bot, words string, accounts ...int64) {
	w.t.Helper()
	for _, account := range accounts {
		if len(w.telegram.Chat(account).Messages) == 0 { // a chat exists once its user has written
			w.telegram.SendMessage(account, "hello")
		}

		w.updates++
		err := b.handle(w.t.Context(), chat.Incoming{
			Update: int64(w.updates), From: telego.User{ID: account, LanguageCode: "en", FirstName: "F"},
			Chat: account, Private: true, Words: words,
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func repeated(account int64, n int) []int64 {
	accounts := make([]int64, n)
	for i := range accounts {
		accounts[i] = account
	}
	return accounts
}

// TestStrangersAreAuditedBySampling has an unapproved person write two hundred times.
func TestStrangersAreAuditedBySampling(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.ActivateAtOnce = false
	b := w.bot()
	w.flood(b, "/files", repeated(anna, 200)...)

	entries, err := w.store.Accounts.AuditLog(t.Context(), 0, 1000)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries of the audit log for 200 messages, %v", len(entries), err)
	}
	if n := len(w.messages(anna)); n == 0 || n > 40 {
		t.Errorf("%d answers to 200 messages", n)
	}
}

// TestNewcomersAreBounded has a hundred new accounts write at once.
func TestNewcomersAreBounded(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.ActivateAtOnce, w.options.Strangers = false, 10
	b := w.bot()
	var accounts []int64
	for i := range 100 {
		accounts = append(accounts, int64(5000+i))
	}

	began := time.Now()
	w.flood(b, "/start", accounts...)
	most := 30 + int(time.Since(began).Seconds())
	users, err := w.store.Accounts.Users(t.Context(), account.UserPending, 0, 1000)
	if err != nil || len(users) < 10 || len(users) > 12 {
		t.Errorf("%d users were made, %v; want 10", len(users), err)
	}

	for _, account := range accounts[50:] {
		if conversation, err := w.store.Notices.Conversation(t.Context(), account); err != nil || conversation.UpdateID != 0 {
			t.Errorf("something is remembered of account %d: %+v, %v", account, conversation, err)
		}
	}

	notified := 0
	for _, account := range accounts {
		for _, m := range w.messages(account) {
			if strings.Contains(m.Text, "write again in an hour") {
				notified++
			}
		}
	}

	if notified == 0 || notified > most {
		t.Errorf("%d of 90 were notified to come back", notified)
	}

	w.flood(b, "/start", boss) // an administrator is admitted anyway
	if user, err := w.store.Accounts.UserByTelegram(t.Context(), boss); err != nil || !user.IsAdmin() {
		t.Errorf("the administrator: %+v, %v", user, err)
	}

	w.flood(b, "/start", accounts[0]) // and so is a known user
	w.sees(accounts[0], "will review your request")
}

// TestRequestsToTheBotAreBounded has an active user write fifty times, with one allowance for the bot and HTTP.
func TestRequestsToTheBotAreBounded(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.Requests = allowance.NewUsers(1)
	b := w.bot()
	began := time.Now()
	w.flood(b, "/jobs", repeated(anna, 50)...)
	most := 20 + int(time.Since(began).Seconds())
	slow, other := 0, 0

	for _, m := range w.messages(anna) {
		if strings.Contains(m.Text, "Too many requests") {
			slow++
		} else {
			other++
		}
	}

	if slow == 0 || slow > 10 || other > most {
		t.Errorf("notified %d times to slow down, answered %d times", slow, other)
	}
	// One more request a second is allowed.
	user := w.user(anna)
	refused := false
	for range 3 {
		refused = refused || w.options.Requests.Take(user) != nil
	}
	if !refused {
		t.Error("the API has another allowance")
	}
}

// TestBotReportsQuotas reaches the limit of deliveries.
func TestBotReportsQuotas(t *testing.T) {
	t.Parallel()
	for language, words := range map[string]string{"en": "You have 1 deliveries in progress", "ru": "У вас 1 доставок в работе"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			w := newRig(t)
			w.store.SetQuotas(core.Quotas{"deliveries": 1})
			w.job(anna, "a.txt")
			file := w.catalog.add(t, "/b.txt", 10)
			w.run(w.bot())
			w.writes(anna, language, "/files")
			w.presses(anna, fmt.Sprintf("i:%d", file.ID))
			w.presses(anna, "d:")
			w.notes(anna, words)
		})
	}
}
