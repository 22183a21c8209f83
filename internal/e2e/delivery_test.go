package e2e

import (
	"slices"
	"testing"
	"time"

	"stagecoach/internal/store"
)

func TestDeliverySucceeds(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	s.startWorker()
	user := s.user(100)
	file, sum := s.file("отчёт 📄.pdf", 3<<20)
	job := s.ended(s.deliver(user, file), 20*time.Second)
	s.wantState(job, store.JobDelivered, "")
	s.wantDocument(100, sum)
	want := []string{"enqueued", "claimed", "download_started", "streaming_started", "delivered"}
	if got := s.events(job); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}
