package e2e

import (
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

// TestLongAskedAgainForALostRow repeats a request that a restore has forgotten: the job ends immediately, as its
// workflow has.
func TestLongAskedAgainForALostRow(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, nil)
	s.startWorker()
	user := s.user(400)
	file, sum := s.file("book.epub", 1000)
	ask := func() delivery.Job {
		job, _, err := s.deliveries.Request(t.Context(), user, file.ID, "the key", delivery.SourceAPI)
		must(t, err)
		return job
	}

	first := ask()
	s.wantState(s.ended(first), lifecycle.DeliveryDelivered, "")
	must(t, s.client.GetWorkflow(t.Context(), first.WorkflowID(), "").Get(t.Context(), nil))
	for _, statement := range []string{"DELETE FROM events WHERE workload = 'delivery'", "DELETE FROM jobs"} {
		_, err := testdb.Connect(t, s.env["DATABASE_URL"]).Exec(t.Context(), statement)
		must(t, err)
	}

	again := ask()
	if again.ID == first.ID {
		t.Fatal("the row is still there")
	}
	s.wantState(s.reload(again), lifecycle.DeliveryDelivered, "")
	s.wantDocument(*user.TelegramID, sum) // once
}

// TestLongNames delivers files with unusual names for headers, paths and readers.
func TestLongNames(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, nil)
	s.startWorker()
	for i, name := range []string{
		`quotes "and' back\slashes`, "control \x1b\t\n signs", "emoji 🎬👩‍👩‍👧", "percent %2F %25",
		strings.Repeat("я", 127) + "x", " leading and trailing ", "-rf", "#?&=;",
	} {
		user := s.user(int64(300 + i))
		file, sum := s.file(name, 1000)
		s.wantState(s.ended(s.deliver(user, file)), lifecycle.DeliveryDelivered, "")
		s.wantDocument(*user.TelegramID, sum)
		if got := s.documents(*user.TelegramID)[0].Name; i != 1 && got != name {
			t.Errorf("%q became %q", name, got)
		}
	}
}
