package bot

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// testCatalog is an in-memory catalog.
type testCatalog struct {
	store *store.Store
	mu    sync.Mutex
	files []delivery.File
	panic bool
	fails error
}

// add puts a file at a path, creating its folders.
func (s *testCatalog) add(t *testing.T, path string, size int64) delivery.File {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()

	var last delivery.File
	parts := strings.Split(path[1:], "/")
	for i, name := range parts {
		folder := "/" + strings.Join(parts[:i], "/")
		entry := delivery.File{
			Path: strings.TrimSuffix(folder, "/") + "/" + name, Parent: folder, Name: name, IsFolder: i < len(parts)-1,
			ModifiedAt: time.Now(),
		}
		if !entry.IsFolder {
			entry.Size = size
		}

		saved, err := s.store.Deliveries.SaveFiles(t.Context(), []delivery.File{entry})
		if err != nil {
			t.Fatal(err)
		}

		last = saved[0]
		if !slices.ContainsFunc(s.files, func(f delivery.File) bool { return f.ID == last.ID }) {
			s.files = append(s.files, last)
		}
	}

	return last
}

// fail makes listings fail from now on.
func (s *testCatalog) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

func (s *testCatalog) FolderByID(_ context.Context, id int64, limit, offset int) (catalog.Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.panic {
		panic("the catalog failed")
	}

	if s.fails != nil {
		return catalog.Listing{}, s.fails
	}

	folder := delivery.File{Path: "/", IsFolder: true}
	for _, file := range s.files {
		if file.ID == id {
			folder = file
		}
	}

	if folder.ID != id {
		return catalog.Listing{}, fault.New(fault.FileNotFound, "gone")
	}

	var in []delivery.File
	for _, file := range s.files {
		if file.Parent == folder.Path {
			in = append(in, file)
		}
	}
	return catalog.Listing{Folder: folder, Files: part(in, limit, offset), Total: len(in), Offset: offset}, nil
}

func (s *testCatalog) File(ctx context.Context, id int64) (delivery.File, error) {
	return s.store.Deliveries.FileByID(ctx, id)
}

func (s *testCatalog) Search(_ context.Context, words string, limit, offset int) ([]delivery.File, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []delivery.File
	for _, file := range s.files {
		if strings.Contains(strings.ToLower(file.Name), strings.ToLower(words)) {
			found = append(found, file)
		}
	}
	return part(found, limit, offset), false, nil
}

func part(files []delivery.File, limit, offset int) []delivery.File {
	return files[min(offset, len(files)):min(offset+limit, len(files))]
}

// steady is a status that never changes.
type steady struct{}

func (steady) Now(context.Context) (status.Status, error) {
	age, silence := 4.2, 700.0
	return status.Status{
		QueueDepth: 3, WorkerHeartbeatAge: &age,
		InState: map[string]map[string]int64{
			"delivery": {"QUEUED": 3}, "download": {"downloading": 12}, "task": {"STUCK": 2},
		},
		TopErrors: []operations.ErrorCount{{Code: "STORAGE_UNAVAILABLE", Count: 2}}, StuckJobs: []int64{7},
		QBittorrent: &status.QBittorrent{AnswerAge: &silence, Error: "PROVIDER_UNAVAILABLE"},
		Overview: status.Overview{
			TemporalAnswers: true, NeedsReview: 1,
			OpenFindings: 1,
			Errors:       []operations.WorkloadErrorCount{{Workload: "delivery", Code: "STORAGE_UNAVAILABLE", Count: 2}},
			Queues: []status.Queue{
				{Name: "delivery", Kind: "activity", Depth: 3, OldestAge: 8}, {Name: "quotes", Kind: "activity"},
			},
			Workers: []status.Worker{
				{Identity: "w", Service: "worker", Queues: []string{"delivery"}}, {Identity: "a", Service: "api"},
			},
			Outside: []status.Outside{
				{Name: "yandex", Error: "YANDEX_TIMEOUT", FailingFor: &silence}, {Name: "telegram", Answers: true},
			},
			Alerts: []notice.OpenAlert{{Kind: notice.AlertStorageAway}}, Stops: []transaction.Switch{{Name: transaction.SwitchPause}},
		},
	}, nil
}

func (steady) WatchWorkers(context.Context) error { return nil }
