package service

import (
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// TestDownloadActions lists what people may do.
func TestDownloadActions(t *testing.T) {
	t.Parallel()
	owner, other := store.User{ID: 1, Status: store.UserActive}, store.User{ID: 2, Status: store.UserActive}
	admin := store.User{ID: 3, Status: store.UserActive, Role: store.RoleAdmin}
	for _, status := range lifecycle.DownloadStates {
		job := store.Download{UserID: 1, State: status}
		want := 1
		if lifecycle.Download.Terminal(status) {
			want = 0
		}
		for user, n := range map[*store.User]int{&owner: want, &admin: want, &other: 0} {
			if got := DownloadActions(*user, job); len(got) != n || n == 1 && got[0] != lifecycle.DownloadActionCancel {
				t.Errorf("%s: user %d may %v", status, user.ID, got)
			}
		}
	}
}
