package e2e

import (
	"os/exec"
	"testing"

	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
)

// TestServeDeliversAfterAKill runs API, bot and worker in one process, and kills it while it streams a file.
func TestServeDeliversAfterAKill(t *testing.T) {
	t.Parallel()
	s := newRig(t, nil)
	must(t, stack.Programs{Dir: programs}.Build(t.Context(), "starter/stagecoach"))
	serve := s.serve()

	user := s.user(400)
	file, sum := s.file("book.epub", 24<<20) // its last bytes are out only after many seconds
	s.slow(1 << 20)
	job := s.deliver(user, file)
	s.inState(job, lifecycle.DeliveryStreaming)
	serve.kill()

	s.telegram.ClearFaults()
	serve = s.serve()
	s.wantState(s.ended(job), lifecycle.DeliveryDelivered, "")
	s.wantDocument(*user.TelegramID, sum)

	t.Logf("the process has %d MiB", memoryOf(t, serve.Process.Pid, "VmRSS")/1024)
	serve.stop()
	if code := serve.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ends with exit code %d", code)
	}
}

// serve runs the one process and waits until its API is ready.
func (s *rig) serve() *program {
	s.Helper()
	command := exec.CommandContext(s.Context(), stack.Programs{Dir: programs}.Path("stagecoach"), "serve")
	command.Env = []string{}
	for name, value := range s.env {
		command.Env = append(command.Env, name+"="+value)
	}

	started := s.launch(command)
	s.awaitReady(s.apiURL)
	return started
}
