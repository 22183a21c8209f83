package e2e

import (
	"strings"
	"testing"

	"stagecoach/internal/lifecycle"
)

// TestNames delivers files with unusual names for headers, paths and readers.
func TestNames(t *testing.T) {
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
