package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/notice"
)

// TestTheLastAdministratorIsNotForgotten also checks that a forgotten administrator loses the role; the Telegram
// account starts over.
func TestTheLastAdministratorIsNotForgotten(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var admins []account.User
	for i := range 2 {
		telegram := int64(100 + i)
		admin, err := w.Accounts.CreateUser(
			t.Context(), account.User{TelegramID: &telegram, Name: "Boss", Role: account.RoleAdmin, Status: account.UserActive},
			account.NewToken(),
		)
		w.must(err)
		admins = append(admins, admin)
	}

	gone, _, err := w.Operations.Forget(t.Context(), admins[0].ID, admins[1].ID)
	w.must(err)
	if gone.Role != account.RoleUser || gone.Status != account.UserBlocked || gone.Name != "" || gone.TelegramID != nil || gone.ForgottenAt == nil {
		t.Errorf("an administrator became %+v", gone)
	}
	if _, _, err := w.Operations.Forget(t.Context(), admins[1].ID, admins[0].ID); fault.CodeOf(err) != fault.LastAdmin {
		t.Errorf("the last administrator: %v", err)
	}
	if _, err := w.Accounts.ChangeUser(t.Context(), gone.ID, account.UserChange{Name: "Boss"}); fault.CodeOf(err) != fault.UserNotFound {
		t.Errorf("changed after all: %v", err)
	}

	w.must(w.Accounts.SaveUsername(t.Context(), gone.ID, "boss"))
	if _, err := w.Accounts.UserByUsername(t.Context(), "boss"); fault.CodeOf(err) != fault.UserNotFound {
		t.Errorf("named after all: %v", err)
	}

	newcomer, created, err := w.Accounts.EnsureTelegramUser(t.Context(), account.User{TelegramID: admins[0].TelegramID})
	w.must(err)
	if !created || newcomer.ID == gone.ID {
		t.Errorf("the account is %+v again", newcomer)
	}
}

// TestAForgottenChatStaysForgotten ends a person's request after they were forgotten, and while they are: nothing of
// its conversation is kept. The same account starts over as a new user.
func TestAForgottenChatStaysForgotten(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	admin, err := w.Accounts.CreateUser(t.Context(), account.User{Role: account.RoleAdmin, Status: account.UserActive}, account.NewToken())
	w.must(err)
	kept := func(chat int64) bool {
		t.Helper()
		conversation, err := w.Notices.Conversation(t.Context(), chat)
		w.must(err)
		waiting, err := w.Notices.WaitingUpdates(t.Context())
		w.must(err)
		return conversation.Query != "" || len(waiting) > 0
	}

	after := notice.Conversation{ChatID: 100, Query: "words", UpdateID: 7}
	user := w.user(after.ChatID)
	w.must(w.Notices.SaveConversation(t.Context(), after))
	w.must(w.Notices.ReceiveUpdates(t.Context(), 8, []notice.Update{
		{ID: 8, ChatID: after.ChatID, Content: []byte(`{"Words":"what I think"}`)},
	}))
	if !kept(after.ChatID) {
		t.Fatal("a conversation is not kept")
	}

	_, _, err = w.Operations.Forget(t.Context(), user.ID, admin.ID)
	w.must(err)
	w.must(w.Notices.SaveConversation(t.Context(), after))
	if kept(after.ChatID) {
		t.Error("kept by a request that ended later")
	}

	during := notice.Conversation{ChatID: 200, Query: "words", UpdateID: 7}
	user = w.user(during.ChatID)
	saved := make(chan error, 1)
	w.must(w.InTx(t.Context(), func(tx pgx.Tx) error { // Forget's order
		if _, err := tx.Exec(t.Context(), `SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE`, user.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `DELETE FROM conversations WHERE chat_id = $1`, during.ChatID); err != nil {
			return err
		}
		go func() { saved <- w.Notices.SaveConversation(t.Context(), during) }()
		w.waitForBlocked(tx, saved)
		_, err := tx.Exec(t.Context(), `UPDATE users SET telegram_id = NULL WHERE id = $1`, user.ID)
		return err
	}))

	w.must(<-saved)
	if kept(during.ChatID) {
		t.Error("kept by a request in the middle of it")
	}

	w.user(after.ChatID)
	w.must(w.Notices.SaveConversation(t.Context(), after))
	if !kept(after.ChatID) {
		t.Error("the account cannot begin anew")
	}
}

// waitForBlocked waits until a statement waits for the transaction, or has ended after all.
func (w *rig) waitForBlocked(tx pgx.Tx, ended <-chan error) {
	w.t.Helper()
	for waits := false; !waits && len(ended) == 0; time.Sleep(10 * time.Millisecond) {
		w.must(tx.QueryRow(w.t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks
			WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))`).Scan(&waits))
	}
}
