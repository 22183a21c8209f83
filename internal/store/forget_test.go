package store_test

import (
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// TestTheLastAdministratorIsNotForgotten and an administrator who is forgotten is none any more; the Telegram account begins anew.
func TestTheLastAdministratorIsNotForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var admins []store.User
	for i := range 2 {
		telegram := int64(100 + i)
		admin, err := w.CreateUser(t.Context(), store.User{TelegramID: &telegram, Name: "Boss", Role: store.RoleAdmin, Status: store.UserActive}, store.NewToken())
		w.must(err)
		admins = append(admins, admin)
	}

	gone, err := w.Forget(t.Context(), admins[0].ID, admins[1].ID)
	w.must(err)
	if gone.Role != store.RoleUser || gone.Status != store.UserBlocked || gone.Name != "" || gone.TelegramID != nil || gone.ForgottenAt == nil {
		t.Errorf("an administrator became %+v", gone)
	}
	if _, err := w.Forget(t.Context(), admins[1].ID, admins[0].ID); fault.CodeOf(err) != fault.LastAdmin {
		t.Errorf("the last administrator: %v", err)
	}
	if _, err := w.ChangeUser(t.Context(), gone.ID, store.UserChange{Name: "Boss"}); fault.CodeOf(err) != fault.UserNotFound {
		t.Errorf("changed after all: %v", err)
	}
	w.must(w.SaveUsername(t.Context(), gone.ID, "boss"))
	if _, err := w.UserByUsername(t.Context(), "boss"); fault.CodeOf(err) != fault.UserNotFound {
		t.Errorf("named after all: %v", err)
	}

	newcomer, created, err := w.EnsureTelegramUser(t.Context(), store.User{TelegramID: admins[0].TelegramID})
	w.must(err)
	if !created || newcomer.ID == gone.ID {
		t.Errorf("the account is %+v again", newcomer)
	}
}
