package lifecycle

import (
	"fmt"
	"testing"

	"stagecoach/internal/fault"
)

// downloadAllowed is the lifecycle written down by hand, one line per step: status, action, who, then the status it
// leads to. Whatever is not here is refused.
var downloadAllowed = map[string]string{
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

// TestDownloadEveryCase asks the table about every status × action × role × status of the user × medium in its place
// or not.
func TestDownloadEveryCase(t *testing.T) {
	t.Parallel()
	statuses := append([]DownloadState{"", "lost"}, downloadStates...)
	actions := []DownloadAction{"enqueue", "begin", "complete", "fail", "cancel", "no_such_action"}
	cases := 0

	for _, status := range statuses {
		for _, action := range actions {
			for _, role := range []Role{Owner, Admin, System, "stranger"} {
				for _, user := range []string{"ACTIVE", "PENDING", "BLOCKED"} {
					for _, path := range []string{"", "/books/1"} {
						cases++
						want, code := downloadExpected(status, action, role, user, path)
						rule, err := Download.Decide(status, DownloadRequest{Action: action, Roles: []Role{role}},
							DownloadFacts{UserActive: user == "ACTIVE", MediaReady: path != ""})
						if string(rule.To) != want || fault.CodeOf(err) != code {
							t.Errorf(
								"%s %s by %s, user %s, path %q: got %q, %v; want %q, %q", status, action, role, user, path, rule.To, err, want,
								code,
							)
						}
					}
				}
			}
		}
	}

	t.Logf("%d cases", cases)
}

func downloadExpected(status DownloadState, action DownloadAction, role Role, user, path string) (string, fault.Code) {
	to, ok := downloadAllowed[fmt.Sprintf("%s %s %s", status, action, role)]
	if !ok {
		for _, other := range []Role{Owner, Admin, System} {
			if _, possible := downloadAllowed[fmt.Sprintf("%s %s %s", status, action, other)]; possible {
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

// TestDownloadTerminalStatusesAreFrozen makes sure that nothing at all leads out of an end, and that no step skips
// downloading.
func TestDownloadTerminalStatusesAreFrozen(t *testing.T) {
	t.Parallel()
	everybody := []Role{Owner, Admin, System}
	job := DownloadFacts{UserActive: true, MediaReady: true}
	for _, status := range []DownloadState{DownloadCompleted, DownloadFailed, DownloadCanceled} {
		if !Download.Terminal(status) {
			t.Errorf("%s is not terminal", status)
		}
		if actions := Download.Actions(status, everybody, job); len(actions) > 0 {
			t.Errorf("%s still allows %v", status, actions)
		}
	}

	for _, rule := range Download.Allowed(DownloadQueued, everybody, job) {
		if rule.To == DownloadCompleted {
			t.Errorf("%s completes a queued job", rule.Action)
		}
	}
}
