package e2e

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// TestLongBlockedHolder blocks the owner of an agent that holds a task with a lease of an hour: others can take the
// task over at once.
func TestLongBlockedHolder(t *testing.T) {
	night.Only(t)
	t.Parallel()
	y := newReconcileRig(t)
	y.startWorker()
	held := y.make(lifecycle.WorkloadTask, 0)
	must(t, held.start())

	y.exec(`INSERT INTO users (name, role, status, telegram_id) VALUES ('owner', 'USER', 'ACTIVE', 77)`)
	owner, err := strconv.ParseInt(y.text(`SELECT id::text FROM users WHERE name = 'owner'`), 10, 64)
	must(t, err)
	y.exec(`INSERT INTO users (name, role, status, owner_id) VALUES ('agent', 'USER', 'ACTIVE', $1)`, owner)
	agent, err := strconv.ParseInt(y.text(`SELECT id::text FROM users WHERE name = 'agent'`), 10, 64)
	must(t, err)
	y.exec(fmt.Sprintf(`INSERT INTO workspace_members (workspace_id, user_id) VALUES (%d, %d)`, y.workspace.ID, agent))

	handle, err := y.temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: held.workflowID, UpdateName: "claim", WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{lifecycle.TaskInput{Actor: agent, Comment: "c", LeaseSeconds: 3600}},
	})
	must(t, err)
	must(t, handle.Get(t.Context(), nil))

	_, err = y.store.Accounts.ChangeUser(t.Context(), owner, account.UserChange{Status: account.UserBlocked})
	must(t, err)
	if left := y.text(`SELECT (lease_expires_at > now())::text FROM tasks WHERE id::text = $1`, held.entity); left != "false" {
		t.Error("the lease goes on in the record")
	}

	began := time.Now()
	y.tasks.Blocked(t.Context(), owner)
	wait.Eventually(y, "the task is stuck", func() bool { return y.text(held.state, held.entity) == "STUCK" })
	t.Logf("after %v", time.Since(began))
}
