package bot

import (
	"strings"
	"testing"

	"github.com/mymmrac/telego"

	"stagecoach/api/words"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/notice"
)

func TestNewcomersWaitForApproval(t *testing.T) {
	t.Parallel()
	for language, words := range map[string]struct{ pending, waits, approved, blocked string }{
		"ru-RU": {"Администратор рассмотрит", "ещё не открыл", "Доступ открыт", "нет доступа"},
		"de":    {"will review your request", "not approved you yet", "have been approved", "no access"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			w := newRig(t)
			w.options.ActivateAtOnce = false
			w.catalog.add(t, "/a.txt", 10)
			w.run(w.bot())

			w.writes(boss, "en", "/start")
			w.sees(boss, "Choose a file", "📁 Files")
			w.writes(anna, language, "/start")
			w.sees(anna, words.pending)
			w.sees(boss, "<b>User 200</b> asks for access", "ap:", "bl:")
			w.writes(anna, language, "/files")
			w.sees(anna, words.waits)
			if user := w.user(anna); user.Status != account.UserPending || user.Role != account.RoleUser {
				t.Errorf("the newcomer is %s %s", user.Status, user.Role)
			}

			w.presses(boss, "ap:")
			w.sees(anna, words.approved)
			w.sees(boss, "has access", "bl:")
			w.writes(anna, language, "/files")
			w.sees(anna, "a.txt")

			w.writes(boss, "en", "/block "+number64(w.user(anna).ID))
			w.sees(boss, "has no access", "ap:")
			w.writes(anna, language, "/files")
			w.sees(anna, words.blocked)
			w.writes(anna, language, "/start")
			w.presses(anna, "i:")
			w.notes(anna, words.blocked)

			subject := subjectOf(w.user(anna).ID)
			for _, expected := range [][3]string{
				{"bot:/files", "", account.OutcomeRefused},
				{"bot:/approve", subject, account.OutcomeDone},
				{"bot:/block", subject, account.OutcomeDone},
				{"bot:/start", "", account.OutcomeRefused},
			} {
				w.eventually("audit entry "+expected[0], func() bool { return w.audited(expected[0], expected[1], expected[2]) })
			}
		})
	}
}

func TestApprovalIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.ActivateAtOnce = false
	w.run(w.bot())
	w.writes(boss, "en", "/start")
	w.writes(anna, "en", "/start")
	id := number64(w.user(anna).ID)
	w.writes(boss, "ru", "/approve")
	w.sees(boss, "Ждут доступа", "User 200", "✅ Впустить "+id)
	for range 3 {
		w.writes(boss, "ru", "/approve "+id)
	}

	w.writes(boss, "ru", "/approve x")
	w.sees(boss, "Укажите номер")
	w.writes(boss, "ru", "/block "+number64(w.user(boss).ID))
	w.sees(boss, "Свой доступ изменить нельзя")
	w.writes(boss, "ru", "/block 999")
	w.sees(boss, "Такого пользователя нет")
	w.sees(anna, "have been approved")
	notified := 0

	for _, m := range w.messages(anna) {
		if strings.Contains(m.Text, "have been approved") {
			notified++
		}
	}

	if notified != 1 {
		t.Errorf("the user was notified %d times", notified)
	}
}

func TestAdministratorsCommandsAreRefusedToOthers(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.writes(boss, "en", "/status")
	w.sees(boss, "Queue: 3", "QUEUED: 3", "4 s ago", "STORAGE_UNAVAILABLE", "#7", "does not answer, last time: 12 min ago (<code>PROVIDER_UNAVAILABLE</code>)", "downloading: 12",
		"STUCK: 2", "Queue delivery (activity): 3, oldest 8 s", "Workers: 1", "yandex: <code>YANDEX_TIMEOUT</code> for 12 min", "need review: 1", "stopped: pause",
		"<code>storage_unreachable</code> for", "1 open")
	w.writes(boss, "ru", "/status")
	w.sees(
		boss, "Последний сигнал обработчика: 4 с назад", "последний ответ: 12 мин назад", "старейшая 8 с", "уже 12 мин",
		"открытых: 1",
	)
	w.writes(anna, "ru", "/status")
	w.sees(anna, "только администраторы")
	w.writes(anna, "ru", "/approve 1")
	w.eventually("audit entries", func() bool {
		return w.audited("bot:/status", "", account.OutcomeRefused) && w.audited("bot:/approve", "", account.OutcomeRefused) &&
			w.audited("bot:/status", "", account.OutcomeDone)
	})
	w.writes(anna, "ru", "/help")
	if help := w.sees(anna, "/files — посмотреть файлы"); strings.Contains(help.Text, "/status") {
		t.Error("/help offers what is refused")
	}

	w.writes(anna, "en", "/nonsense")
	w.sees(anna, "do not know this command")
	if language := w.user(anna).Language; language != words.English {
		t.Errorf("the language did not follow: %s", language)
	}
	if strings.Contains(w.log.String(), "User 200") || strings.Contains(w.log.String(), botToken) || strings.Contains(w.log.String(), "=200") {
		t.Error("the log names a person or holds the token:", w.log.String())
	}
}

func TestGroupsAreTurnedDown(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bot()
	const group = int64(-500)

	for i, words := range []string{"hello all", "/files"} {
		update := telego.Update{UpdateID: i + 1, Message: &telego.Message{
			From: &telego.User{ID: anna, LanguageCode: "en"}, Chat: telego.Chat{ID: group, Type: telego.ChatTypeSupergroup},
			Text: words,
		}}
		w.handles(b, update)
	}

	if m := w.messages(group); len(m) != 1 || !strings.Contains(m[0].Text, "private chats only") {
		t.Errorf("in the group: %+v", m)
	}
	if _, err := w.store.Accounts.UserByTelegram(t.Context(), anna); err == nil {
		t.Error("a user was made from a group")
	}
}

func TestAlertsReachAdministratorsOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.writes(boss, "ru", "/start")
	w.sees(boss, "Выберите файл")

	for range 3 {
		if err := w.store.Notices.RaiseAlert(t.Context(), notice.AlertStorageToken); err != nil {
			t.Fatal(err)
		}
	}

	w.sees(boss, "🚨", "токен")
	if n := len(w.messages(boss)); n != 2 {
		t.Errorf("%d messages", n)
	}
}
