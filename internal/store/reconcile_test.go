package store_test

import (
	"fmt"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// TestDrivenRows finds the rows of workflows by their keys, in each workload.
func TestDrivenRows(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	job, task := o.job(o.ann), o.made(store.NewTask{})[0]
	for workload, key := range map[string]string{"delivery": job.IdempotencyKey, "task": fmt.Sprint(task.ID)} {
		rows, ok, err := o.DrivenRows(t.Context(), workload, []string{key, "no key at all"})
		if err != nil || !ok[key] || ok["no key at all"] || rows[key].Over || rows[key].Entity == "" {
			t.Errorf("%s: %+v, %v, %v", workload, rows, ok, err)
		}
	}

	s := newShelf(t)
	ended := s.move(s.move(s.download(s.ann), lifecycle.DownloadDownloading), lifecycle.DownloadCompleted)
	key := ended.WorkflowID()[len("download/"):]
	rows, ok, err := s.DrivenRows(t.Context(), "download", []string{key, "1/2"})
	if err != nil || !ok[key] || ok["1/2"] || !rows[key].Over {
		t.Errorf("download: %+v, %v, %v", rows, ok, err)
	}

	b := newBank(t)
	hash := b.deposit("ann", coin)
	rows, ok, err = b.DrivenRows(t.Context(), "transaction", []string{hash})
	if err != nil || !ok[hash] || rows[hash].Over || rows[hash].Entity != hash {
		t.Errorf("transaction: %+v, %v, %v", rows, ok, err)
	}
}
