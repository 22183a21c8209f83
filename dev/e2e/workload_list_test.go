package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/transactions"
)

// workloads are the harnesses of TestWorkloads, one for each workload.
var workloads = []*workload{deliveryHarness, taskHarness, downloadHarness, transactionHarness}

// TestEveryWorkloadHasAHarness checks that the suite covers every workload.
func TestEveryWorkloadHasAHarness(t *testing.T) {
	t.Parallel()
	var harnesses, operated []string
	for _, w := range workloads {
		harnesses = append(harnesses, w.name)
	}
	services := all.Services{
		Deliveries: &deliveries.Service{}, Tasks: &tasks.Service{}, Downloads: &downloads.Service{},
		Transactions: &transactions.Service{},
	}
	for _, w := range services.Workloads() {
		operated = append(operated, w.Name())
	}
	if names := lifecycle.Names(); !slices.Equal(harnesses, names) || !slices.Equal(operated, names) {
		t.Errorf("harnesses %v, operated %v, workloads %v", harnesses, operated, names)
	}
}

// because is the comment of a person's end, if it takes one.
const because = "because"

// A delivery rests while its file streams slowly.
var deliveryHarness = &workload{
	name: lifecycle.WorkloadDelivery, path: "/v1/deliveries", stateField: "state", idField: "id",
	notFound: fault.DeliveryNotFound,
	rests:    string(lifecycle.DeliveryStreaming), done: string(lifecycle.DeliveryDelivered),
	ended: string(lifecycle.DeliveryCancelled), lost: string(lifecycle.DeliveryFailed),
	why: string(fault.CancelledByUser), whyCLI: string(fault.CancelledByUser),
	repeated: answerKind{status: http.StatusOK},
	unkeyed:  answerKind{http.StatusUnprocessableEntity, fault.Validation},
	hidden:   answerKind{http.StatusNotFound, fault.DeliveryNotFound},
	ownerIs:  ofPersonOrAdmin,
	update:   string(lifecycle.DeliveryActionCancel),

	// known content would be delivered without a stream
	subject: func(w *workloadRig) string {
		file, _ := w.file("planted-file-"+nonce()+".bin", w.fileSize)
		return fmt.Sprint(file.ID)
	},
	ask: func(w *workloadRig, by person, file, key string) answer {
		return w.call("POST", "/v1/deliveries", by.token, map[string]any{"file_id": file}, keyed(key)...)
	},
	askEnd: func(r *row, token, key string) answer {
		return r.call("POST", r.at()+"/cancel", token, nil, keyed(key)...)
	},
	finish: func(r *row) { r.becomes(r.done) },
	// a person requests at most one delivery
	effects: func(r *row) int { return len(r.documents(r.by.chat)) },
	effect:  1,
}

// A task rests while somebody works on it. Its creator ends it with a status.
var taskHarness = &workload{
	name: lifecycle.WorkloadTask, path: "/v1/tasks", stateField: "status", idField: "id",
	notFound: fault.TaskNotFound,
	rests:    string(lifecycle.TaskInProgress), done: string(lifecycle.TaskDone),
	ended: string(lifecycle.TaskCancelled), lost: string(lifecycle.TaskCancelled),
	why: because, whyCLI: "The workflow was cancelled by an operator.",
	repeated: answerKind{status: http.StatusCreated},
	unkeyed:  answerKind{status: http.StatusCreated},
	hidden:   answerKind{http.StatusNotFound, fault.TaskNotFound},
	ownerIs:  ofPerson,

	subject: func(*workloadRig) string { return "Planted task " + nonce() },
	ask: func(w *workloadRig, by person, title, key string) answer {
		body := map[string]any{"workspace_id": by.space, "title": title}
		return w.call("POST", "/v1/tasks", by.token, body, keyed(key)...)
	},
	rest: func(r *row) {
		r.insist(func() answer { return r.by.does("claim", r.id, "", "Idempotency-Key", "rest-"+r.id) })
	},
	askEnd: func(r *row, token, key string) answer {
		body := map[string]any{"to": lifecycle.TaskCancelled, "comment": because}
		return r.call("POST", r.at()+"/status", token, body, keyed(key)...)
	},
	requests: func(r *row) {
		r.by.does("status", r.id, "NEW", "Idempotency-Key", "back-"+r.id).want(r, http.StatusOK)
		r.by.does("claim", r.id, "", "Idempotency-Key", "again-"+r.id).want(r, http.StatusOK)
		space := "/v1/workspaces/" + r.by.space
		r.call("PATCH", space, r.by.token, map[string]any{"review_required": true}).want(r, http.StatusOK)
		r.by.does("status", r.id, "DONE", "Idempotency-Key", "soon-"+r.id).
			refused(r, http.StatusConflict, string(fault.ReviewRequired))
		r.call("PATCH", space, r.by.token, map[string]any{"review_required": false}).want(r, http.StatusOK)
	},
	finish: func(r *row) {
		r.insist(func() answer { return r.by.does("status", r.id, "DONE", "Idempotency-Key", "finish-"+r.id) })
		r.becomes(r.done)
	},
	effects: func(*row) int { return 0 },
}

// A download rests while nobody seeds its torrent.
var downloadHarness = &workload{
	name: lifecycle.WorkloadDownload, path: "/v1/downloads", stateField: "status", idField: "id",
	notFound: fault.DownloadNotFound,
	rests:    string(lifecycle.DownloadDownloading), done: string(lifecycle.DownloadCompleted),
	ended: string(lifecycle.DownloadCanceled), lost: string(lifecycle.DownloadFailed),
	why: string(fault.CancelledByUser), whyCLI: string(fault.CancelledByUser),
	repeated: answerKind{status: http.StatusOK},
	unkeyed:  answerKind{status: http.StatusOK}, // the active one of the same book
	hidden:   answerKind{http.StatusNotFound, fault.DownloadNotFound},
	ownerIs:  ofPersonOrAdmin,
	update:   string(lifecycle.DownloadActionCancel),

	subject: func(w *workloadRig) string {
		return w.unseeded("planted-book-"+nonce()+".epub").URL + "?apikey=planted-key"
	},
	ask: func(w *workloadRig, by person, link, key string) answer {
		book := w.bookOf(by, link)
		body := map[string]any{"book_id": book, "media_type": "text", "source_url": link}
		return w.call("POST", "/v1/downloads", by.token, body, keyed(key)...)
	},
	askEnd: func(r *row, token, key string) answer {
		return r.call("POST", r.at()+"/cancel", token, map[string]any{}, keyed(key)...)
	},
	finish: func(r *row) {
		whole := 1.0
		r.qbittorrent.change(r.library, &torrentsim.SeededTorrent{Name: torrentOf(r)}, torrentsim.TorrentChange{Progress: &whole})
		r.becomes(r.done)
	},
	effects: func(r *row) (n int) {
		for _, torrent := range r.all() {
			if torrent.Name == torrentOf(r) {
				n++
			}
		}
		return n
	},
	effect: 1,
	leaves: 1, // the next download for the book continues with it
}

// A transaction is created by a deposit. It rests in the queue while payments are paused, and in processing while its
// deposit is in review: only then may a person end it. Transactions belong to the administrators.
var transactionHarness = &workload{
	name: lifecycle.WorkloadTransaction, path: "/v1/transactions", stateField: "status", idField: "hash",
	notFound: fault.TransactionNotFound,
	rests:    string(lifecycle.TransactionProcessing), line: string(lifecycle.TransactionPending), done: string(lifecycle.TransactionProcessed),
	ended: string(lifecycle.TransactionFailed), lost: string(lifecycle.TransactionFailed),
	why: because, whyCLI: "Cancelled by operator",
	hidden:  answerKind{http.StatusForbidden, fault.InsufficientAccess},
	ownerIs: ofAdmins,

	subject: func(*workloadRig) string { return "planted_" + nonce() },
	make:    func(w *workloadRig, buyer string) string { return w.deposit(buyer, 1e9) },
	endable: func(w *workloadRig, by person) *row {
		r := <-w.reviewed
		r.workloadRig, r.by = w, by
		return r
	},
	askEnd: func(r *row, token, key string) answer {
		body := map[string]any{"outcome": lifecycle.TransactionFailed, "comment": because}
		return r.call("POST", r.at()+"/resolve", token, body, keyed(key)...)
	},
	finish: func(r *row) {
		r.insist(func() answer { return r.call("POST", "/v1/payments/resume", adminToken, nil) })
		r.becomes(r.done)
	},
	effects: func(r *row) int { return int(r.bought()[r.subject].Stars / 50) },
	effect:  1,
}

// keyed is the header of a key; empty: none.
func keyed(key string) []string {
	if key == "" {
		return nil
	}
	return []string{"Idempotency-Key", key}
}

// insist repeats a request while a server is unavailable.
func (w *workloadRig) insist(request func() answer) (got answer) {
	w.Helper()
	wait.Eventually(w, "a request is answered", func() bool {
		got = request()
		return !w.away(got)
	})
	if got.status >= 300 {
		w.Fatalf("answered %d %v", got.status, got.body)
	}
	return got
}

// away reports that nobody has answered, or that a server is unavailable.
func (w *workloadRig) away(got answer) bool {
	w.Helper()
	if got.status != http.StatusServiceUnavailable {
		return got.status == 0
	}
	switch got.body["code"] {
	case string(fault.TemporalUnavailable), string(fault.StoreUnavailable):
	default:
		w.Errorf("answered %v", got.body)
	}
	return true
}

// torrentOf is the name of a download's torrent.
func torrentOf(r *row) string {
	name, _, _ := strings.Cut(r.subject[strings.LastIndex(r.subject, "/")+1:], ".torrent")
	return name
}

// bookOf creates the book of a link, once.
func (w *workloadRig) bookOf(by person, link string) (id string) {
	w.Helper()
	body := map[string]any{"title": "Planted Title"}
	key := "book-" + link[strings.LastIndex(link, "/")+1:]
	got := w.insist(func() answer { return w.call("POST", "/v1/books", by.token, body, "Idempotency-Key", key) })
	return got.body["id"].(string)
}
