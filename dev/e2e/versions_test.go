package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/reconciler"
)

// build returns the build that a workflow runs on; empty: none yet.
func (s *rig) build(workflowID string) string {
	s.Helper()
	description, err := s.client.DescribeWorkflowExecution(s.Context(), workflowID, "")
	if err != nil {
		return ""
	}
	return description.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId()
}

// deployment runs an operator's command about a version until the server accepts it: the server must know the version
// first.
func (s *rig) deployment(command, build string, more ...string) {
	s.Helper()
	var out []byte
	args := append([]string{
		"worker", "deployment", command, "--deployment-name", "stagecoach", "--build-id", build, "--yes", "--address",
		s.temporal.Address, "--namespace", s.env["TEMPORAL_NAMESPACE"],
	}, more...)

	done := false
	defer func() {
		if !done {
			s.Logf("temporal %v: %s", args, out)
		}
	}()
	wait.Eventually(s, "the server accepts "+command, func() bool {
		var err error
		out, err = exec.Command(s.temporal.Binary, args...).CombinedOutput()
		done = err == nil
		return done
	})
}

// TestVersions rolls a second version out beside the first: nothing runs before a version is current, a ramp shares new
// work, a delivery ends on its first version, a task and the singletons move to the new one.
func TestVersions(t *testing.T) {
	night.Only(t)
	t.Parallel()
	night.Only(t)
	s := newRig(t, map[string]string{
		"STAGECOACH_BOT": "false", "TEMPORAL_DEPLOYMENT_NAME": "stagecoach", "TEMPORAL_WORKER_BUILD_ID": "v1",
	})
	first := s.startWorker()
	s.startAPI()
	ann := s.member("Ann")
	space := ann.workspace(map[string]any{})
	several := func(howMany int) (ids []string) {
		var wanted []map[string]any
		for i := range howMany {
			wanted = append(wanted, map[string]any{"ref": fmt.Sprint(i), "title": "Move on"})
		}
		for _, id := range ann.batch(space, wanted...) {
			ids = append(ids, id)
		}
		return ids
	}

	old := several(1)[0]
	time.Sleep(time.Second)
	if build := s.build("task/" + old); build != "" {
		t.Errorf("a task began on %q before any version was current", build)
	}

	s.deployment("set-current-version", "v1")
	wait.Eventually(s, "the task begins on v1", func() bool { return s.build("task/"+old) == "v1" })
	long, _ := s.streaming(24, 2)

	s.env["TEMPORAL_WORKER_BUILD_ID"] = "v2"
	s.startWorker()
	s.deployment("set-ramping-version", "v2", "--percentage", "50")
	shared := map[string]int{}
	for _, id := range several(24) {
		wait.Eventually(s, "a task begins on either version", func() bool { return s.build("task/"+id) != "" })
		shared[s.build("task/"+id)]++
	}

	if shared["v1"] == 0 || shared["v2"] == 0 {
		t.Errorf("a ramp of a half shared new work like this: %v", shared)
	}

	s.deployment("set-current-version", "v2")
	wait.Eventually(s, "the old task moves on when something happens to it", func() bool {
		ann.does("claim", old, "", "Idempotency-Key", "move")
		return s.build("task/"+old) == "v2"
	})
	ann.does("status", old, "DONE").want(t, http.StatusOK)
	long = s.ended(long)
	s.wantState(long, lifecycle.DeliveryDelivered, "")
	if build := s.build(long.WorkflowID()); build != "v1" || long.Attempt != 0 {
		t.Errorf("the delivery under way ended on %q, attempt %d", build, long.Attempt)
	}

	first.stop()
	wait.Eventually(
		s, "the reconciler moves on when its old worker stops",
		func() bool {
			sweeps := s.listed(`WorkflowType="` + reconciler.WorkflowType + `"`)
			return len(sweeps) > 0 && s.build(sweeps[0]) == "v2"
		},
	)
	s.telegram.ClearFaults()
	file, _ := s.file("new.bin", 1000)
	fresh := s.ended(s.deliver(s.user(101), file))
	s.wantState(fresh, lifecycle.DeliveryDelivered, "")
	if build := s.build(fresh.WorkflowID()); build != "v2" {
		t.Errorf("a new delivery ran on %q", build)
	}

	version := []string{"worker", "deployment", "describe-version", "--deployment-name", "stagecoach", "--build-id", "v1"}
	if got := s.temporalCLI(version...); !strings.Contains(got, "DrainageStatus") {
		t.Errorf("the old version is described as %s", got)
	}

	moved := several(1)[0]
	s.temporalCLI(
		"workflow", "update-options", "--workflow-id", "task/"+moved, "--versioning-override-behavior", "auto_upgrade",
	)
}
