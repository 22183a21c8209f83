package store_test

import (
	"context"
	"fmt"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// TestDrivenRows finds the rows of workflows by their keys, in each workload.
func TestDrivenRows(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	job, task := o.job(o.ann), o.made(task.NewTask{})[0]
	for key, find := range map[string]func(context.Context, []string) (core.DrivenRows, error){
		job.IdempotencyKey: o.Deliveries.Driven, fmt.Sprint(task.ID): o.Tasks.Driven,
	} {
		got, err := find(t.Context(), []string{key, "no key at all"})
		if err != nil || !got.Possible[key] || got.Possible["no key at all"] || got.Rows[key].Over || got.Rows[key].Entity == "" {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}

	s := newDownloadRig(t)
	ended := s.move(s.move(s.download(s.ann), lifecycle.DownloadDownloading), lifecycle.DownloadCompleted)
	key := ended.WorkflowID()[len("download/"):]
	got, err := s.Downloads.Driven(t.Context(), []string{key, "1/2"})
	if err != nil || !got.Possible[key] || got.Possible["1/2"] || !got.Rows[key].Over {
		t.Errorf("download: %+v, %v", got, err)
	}

	b := newBank(t)
	hash := b.deposit("ann", coin)
	got, err = b.Transactions.Driven(t.Context(), []string{hash})
	if err != nil || !got.Possible[hash] || got.Rows[hash].Over || got.Rows[hash].Entity != hash {
		t.Errorf("transaction: %+v, %v", got, err)
	}
}
