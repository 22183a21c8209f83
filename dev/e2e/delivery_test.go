package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
)

func TestDeliverySucceeds(t *testing.T) {
	t.Parallel()
	s := newRig(t, nil)
	s.startWorker()
	user := s.user(100)
	file, sum := s.file("отчёт 📄.pdf", 3<<20)
	job := s.ended(s.deliver(user, file), 20*time.Second)
	s.wantState(job, lifecycle.DeliveryDelivered, "")
	s.wantDocument(100, sum)
	want := []string{"enqueued", "claimed", "download_started", "streaming_started", "delivered"}
	if got := s.events(job); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

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
		s.wantState(s.ended(s.deliver(user, file), 20*time.Second), lifecycle.DeliveryDelivered, "")
		s.wantDocument(*user.TelegramID, sum)
		if got := s.documents(*user.TelegramID)[0].Name; i != 1 && got != name {
			t.Errorf("%q became %q", name, got)
		}
	}
}
