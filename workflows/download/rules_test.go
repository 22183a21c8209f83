package download

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// allowed is the lifecycle written down by hand, one line per step: status, action, who, then the status it leads to.
// Whatever is not here is refused.
var allowed = map[string]string{
	" enqueue owner": "queued",

	"queued begin system":         "downloading",
	"queued fail system":          "failed",
	"queued cancel owner":         "canceled",
	"queued cancel admin":         "canceled",
	"queued cancel system":        "canceled",
	"downloading complete system": "completed",
	"downloading fail system":     "failed",
	"downloading cancel owner":    "canceled",
	"downloading cancel admin":    "canceled",
	"downloading cancel system":   "canceled",
}

// TestEveryCase asks the table about every status × action × role × standing of the user × medium in its place or not.
func TestEveryCase(t *testing.T) {
	t.Parallel()
	statuses := append([]store.DownloadStatus{"", "lost"}, store.DownloadStatuses...)
	actions := []store.DownloadAction{"enqueue", "begin", "complete", "fail", "cancel", "no_such_action"}
	cases := 0
	for _, status := range statuses {
		for _, action := range actions {
			for _, role := range []lifecycle.Role{lifecycle.Owner, lifecycle.Admin, lifecycle.System, "stranger"} {
				for _, user := range []string{store.UserActive, store.UserPending, store.UserBlocked} {
					for _, path := range []string{"", "/books/1"} {
						cases++
						want, code := expected(status, action, role, user, path)
						rule, err := Rules.Decide(status, request{Action: action, Roles: []lifecycle.Role{role}},
							store.Download{Status: status, UserStatus: user, ContentPath: path})
						if string(rule.To) != want || fault.CodeOf(err) != code {
							t.Errorf("%s %s by %s, user %s, path %q: got %q, %v; want %q, %q", status, action, role, user, path, rule.To, err, want, code)
						}
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

func expected(status store.DownloadStatus, action store.DownloadAction, role lifecycle.Role, user, path string) (string, fault.Code) {
	to, ok := allowed[fmt.Sprintf("%s %s %s", status, action, role)]
	if !ok {
		for _, other := range []lifecycle.Role{lifecycle.Owner, lifecycle.Admin, lifecycle.System} {
			if _, possible := allowed[fmt.Sprintf("%s %s %s", status, action, other)]; possible {
				return "", fault.InsufficientAccess
			}
		}
		return "", fault.InvalidTransition
	}
	switch {
	case action == "enqueue" && user != "ACTIVE":
		return "", fault.UserNotActive
	case action == "complete" && path == "":
		return "", fault.MediaNotReady
	}
	return to, ""
}

// TestTerminalStatusesAreFrozen makes sure that nothing at all leads out of an end, and that no step skips downloading.
func TestTerminalStatusesAreFrozen(t *testing.T) {
	t.Parallel()
	everybody := []lifecycle.Role{lifecycle.Owner, lifecycle.Admin, lifecycle.System}
	job := store.Download{UserStatus: store.UserActive, ContentPath: "/x"}
	for _, status := range []store.DownloadStatus{store.DownloadCompleted, store.DownloadFailed, store.DownloadCanceled} {
		if !Rules.Terminal(status) {
			t.Errorf("%s is not terminal", status)
		}
		if actions := Rules.Actions(status, everybody, job); len(actions) > 0 {
			t.Errorf("%s still allows %v", status, actions)
		}
	}
	for _, rule := range Rules.Allowed(store.DownloadQueued, everybody, job) {
		if rule.To == store.DownloadCompleted {
			t.Errorf("%s completes a queued job", rule.Action)
		}
	}
}

// TestActions lists what people may do.
func TestActions(t *testing.T) {
	t.Parallel()
	owner, other := store.User{ID: 1, Status: store.UserActive}, store.User{ID: 2, Status: store.UserActive}
	admin := store.User{ID: 3, Status: store.UserActive, Role: store.RoleAdmin}
	for _, status := range store.DownloadStatuses {
		job := store.Download{UserID: 1, Status: status}
		want := 1
		if Rules.Terminal(status) {
			want = 0
		}
		for user, n := range map[*store.User]int{&owner: want, &admin: want, &other: 0} {
			if got := Actions(*user, job); len(got) != n || n == 1 && got[0] != store.DownloadActionCancel {
				t.Errorf("%s: user %d may %v", status, user.ID, got)
			}
		}
	}
}

// TestEveryStatusIsDocumented keeps the table's stages and the record's statuses the same.
func TestEveryStatusIsDocumented(t *testing.T) {
	t.Parallel()
	var documented []store.DownloadStatus
	for _, stage := range Rules.Stages {
		documented = append(documented, stage.State)
		if stage.Means == "" || !stage.Terminal && stage.LeftBy == "" {
			t.Errorf("%s is not explained", stage.State)
		}
	}
	if !slices.Equal(documented, store.DownloadStatuses) {
		t.Errorf("documented %v, recorded %v", documented, store.DownloadStatuses)
	}
}
