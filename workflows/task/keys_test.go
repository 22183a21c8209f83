package task_test

import (
	"strings"
	"testing"
	"time"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/core"
)

// TestLongKeys uses the longest keys accepted by the API: with the user's id before them they exceed any id accepted by
// Temporal. They work like all others, and the answer is stored with the transition.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann := t.Context(), w.member()
	for _, length := range []int{252, 253, 254, 255} {
		wanted, key := w.task(nil), strings.Repeat("~", length)
		first, err := w.tasks.Claim(ctx, ann, wanted.ID, "mine", key)
		w.must(err)
		_, err = w.tasks.Status(ctx, ann, wanted.ID, lifecycle.TaskNew, "I give it back", "")
		w.must(err)

		again, err := w.tasks.Claim(ctx, ann, wanted.ID, "mine", key)
		if err != nil || again.Version != first.Version || again.State != lifecycle.TaskInProgress {
			t.Errorf("key of %d characters: %+v, %v", length, again.Snapshot, err)
		}

		_, err = w.tasks.Escalate(ctx, ann, wanted.ID, "mine", key)
		w.wantCode(err, fault.Validation) // the key was used for something else
	}
}

// TestInvalidForTemporal sends what the server rejects as invalid: the answer comes at once, and not as an outage.
func TestInvalidForTemporal(t *testing.T) {
	t.Parallel()
	w := newRigOn(t, testtemporal.Own(t, "limit.maxIDLength=100"), tasks.WorkspaceChange{})
	w.tasks.Patience = time.Hour
	wanted := w.task(nil)
	for range 2 { // the answer must not be stored
		_, err := w.tasks.Claim(t.Context(), w.creator, wanted.ID, "mine", strings.Repeat("k", 200))
		w.wantCode(err, fault.Validation)
	}

	if answer, err := w.store.Answers.Answered(t.Context(), core.Request{UserID: w.creator.ID, Key: strings.Repeat("k", 200)}, nil); answer || err != nil {
		t.Errorf("kept: %t, %v", answer, err)
	}
}
