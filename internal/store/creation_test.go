package store_test

import (
	"strings"
	"testing"

	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/task"
)

// TestCreationKeepsToTheTable makes rows that the schema would allow, in a state or with an event by which nothing
// begins.
func TestCreationKeepsToTheTable(t *testing.T) {
	t.Parallel()
	s, o := newDownloadRig(t), newOffice(t, nil)
	job := delivery.Job{
		IdempotencyKey: strings.Repeat("a", 64), UserID: s.ann.ID, FileID: s.file.ID, FileName: "a", Size: 10,
		Source: delivery.SourceAPI,
	}

	for _, first := range []core.Event{{Type: "enqueued", To: "CANCELLED"}, {Type: "claimed", To: "QUEUED"}} {
		if _, _, err := s.Deliveries.Create(t.Context(), job, first); err == nil {
			t.Errorf("a delivery began with %+v", first)
		}
	}

	for _, first := range []core.Event{{Type: "enqueued", To: "canceled"}, {Type: "started", To: "queued"}} {
		if _, _, err := s.Downloads.Create(t.Context(), s.ask(s.ann), first); err == nil {
			t.Errorf("a download began with %+v", first)
		}
	}

	tasks := []task.NewTask{{Title: "a task of a test", Visibility: "public", Priority: "normal", Labels: []string{}}}
	for _, first := range []core.Event{{Type: "created", To: "STUCK"}, {Type: "claimed", To: "NEW"}} {
		if _, _, err := o.Tasks.Create(t.Context(), o.Workspace.ID, tasks, first, core.Request{UserID: o.ann.ID}); err == nil {
			t.Errorf("a task began with %+v", first)
		}
	}
}
