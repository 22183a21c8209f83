package service

import (
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// TestDownloadActions lists what people may do.
func TestDownloadActions(t *testing.T) {
	t.Parallel()
	owner, other := account.User{ID: 1, Status: account.UserActive}, account.User{ID: 2, Status: account.UserActive}
	admin := account.User{ID: 3, Status: account.UserActive, Role: account.RoleAdmin}
	for _, state := range lifecycle.Download.States {
		status := state.State
		job := download.Download{UserID: 1, State: status}
		want := 1
		if lifecycle.Download.Terminal(status) {
			want = 0
		}
		for user, n := range map[*account.User]int{&owner: want, &admin: want, &other: 0} {
			if got := DownloadActions(*user, job); len(got) != n || n == 1 && got[0] != lifecycle.DownloadActionCancel {
				t.Errorf("%s: user %d may %v", status, user.ID, got)
			}
		}
	}
}
