package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
)

// TestNightFaults causes one fault at a time and checks the job, its attempts and the user's chat.
func TestNightFaults(t *testing.T) {
	t.Parallel()
	night.Only(t)
	const unhurried = "1m" // no worker is lost here
	patient := newRig(t, map[string]string{"STAGECOACH_DELIVERY_HEARTBEAT_TIMEOUT": unhurried})
	impatient := newRig(t, map[string]string{
		"STAGECOACH_DELIVERY_HEARTBEAT_TIMEOUT": unhurried,
		"STAGECOACH_DELIVERY_STORAGE_TIMEOUT":   "2500ms",
		"STAGECOACH_DELIVERY_CHUNK_TIMEOUT":     "2500ms",
		"STAGECOACH_DELIVERY_JOB_TIMEOUT":       "14s",
	})

	patient.startWorker()
	impatient.startWorker()
	const mid = 512 << 10 // well within the 3 MiB of every file here
	for chat, c := range []struct {
		name      string
		telegram  *sim.Fault
		yandex    *sim.Fault
		state     lifecycle.DeliveryState
		lastError fault.Code
		attempt   int
		documents int
		atLeast   time.Duration
		timesOut  bool // only these wait for a time-out, which is short for them
	}{
		{name: "429 with a short wait costs no try", telegram: &sim.Fault{Kind: "429", RetryAfter: 1, Times: 1}, state: lifecycle.DeliveryDelivered, documents: 1, atLeast: time.Second},
		{name: "429 after the whole body", telegram: &sim.Fault{Kind: "429", RetryAfter: 1, Times: 1, AfterBody: true}, state: lifecycle.DeliveryDelivered, documents: 1, atLeast: time.Second},
		{name: "Telegram 500 twice", telegram: &sim.Fault{Kind: "500", Times: 2}, state: lifecycle.DeliveryDelivered, attempt: 2, documents: 1},
		{name: "Telegram's own 500 after the body is an answer", telegram: &sim.Fault{Kind: "internal_error", Times: 1, AfterBody: true}, state: lifecycle.DeliveryDelivered, attempt: 1, documents: 1},
		{name: "500 restart after the whole body is no answer", telegram: &sim.Fault{Kind: "500", Times: 1, AfterBody: true}, state: lifecycle.DeliveryFailed, lastError: fault.OutcomeUnknown, attempt: 1},
		{name: "500 restart may hide a success", telegram: &sim.Fault{Kind: "500", Times: 1, Applied: true}, state: lifecycle.DeliveryFailed, lastError: fault.OutcomeUnknown, attempt: 1, documents: 1},
		{name: "Telegram 500 three times", telegram: &sim.Fault{Kind: "500", Times: 3}, state: lifecycle.DeliveryFailed, lastError: fault.TelegramUnavailable, attempt: 3},
		{name: "a proxy's 502 page", telegram: &sim.Fault{Kind: "html_502", Times: 1}, state: lifecycle.DeliveryDelivered, attempt: 1, documents: 1},
		{name: "a proxy's 502 page after the whole body is no answer", telegram: &sim.Fault{Kind: "html_502", Times: 1, AfterBody: true}, state: lifecycle.DeliveryFailed, lastError: fault.OutcomeUnknown, attempt: 1},
		{name: "a proxy's 502 page may hide a success", telegram: &sim.Fault{Kind: "html_502", Times: 1, Applied: true}, state: lifecycle.DeliveryFailed, lastError: fault.OutcomeUnknown, attempt: 1, documents: 1},
		{name: "413 without a body after the whole body is no answer", telegram: &sim.Fault{Kind: "413_empty", Times: 1, AfterBody: true}, state: lifecycle.DeliveryFailed, lastError: fault.OutcomeUnknown, attempt: 1},
		{name: "413 without a body", telegram: &sim.Fault{Kind: "413_empty", Times: 1}, state: lifecycle.DeliveryFailed, lastError: fault.FileTooBig, attempt: 1},
		{name: "the user blocked the bot", telegram: &sim.Fault{Kind: "blocked", Times: 1}, state: lifecycle.DeliveryFailed, lastError: fault.TelegramForbidden, attempt: 1},
		{name: "the user is gone", telegram: &sim.Fault{Kind: "deactivated", Times: 1}, state: lifecycle.DeliveryFailed, lastError: fault.TelegramForbidden, attempt: 1},
		{name: "the upload is cut", telegram: &sim.Fault{Kind: "cut", AfterBytes: mid, Times: 1}, state: lifecycle.DeliveryDelivered, attempt: 1, documents: 1},
		{name: "the upload stalls", telegram: &sim.Fault{Kind: "stall", AfterBytes: 1000, Times: 3}, state: lifecycle.DeliveryFailed, lastError: fault.TelegramUnavailable, attempt: 3, timesOut: true},
		{name: "the answer is lost", telegram: &sim.Fault{Kind: "lost_answer", Times: 1}, state: lifecycle.DeliveryFailed, lastError: fault.OutcomeUnknown, attempt: 1, documents: 1},
		{name: "504 after the whole body may hide a success", telegram: &sim.Fault{Kind: "504", Times: 1, AfterBody: true}, state: lifecycle.DeliveryFailed, lastError: fault.OutcomeUnknown, attempt: 1},
		{name: "no answer until the job's time is up", telegram: &sim.Fault{Kind: "timeout", Times: 1, AfterBody: true}, state: lifecycle.DeliveryFailed, lastError: fault.OutcomeUnknown, attempt: 1, timesOut: true},

		{name: "storage 500", yandex: &sim.Fault{Match: "resources", Kind: "500", Times: 1}, state: lifecycle.DeliveryDelivered, attempt: 1, documents: 1},
		{name: "storage 429", yandex: &sim.Fault{Match: "resources", Kind: "429", RetryAfter: 1, Times: 1}, state: lifecycle.DeliveryDelivered, documents: 1},
		{name: "storage 423", yandex: &sim.Fault{Match: "resources", Kind: "423", Times: 1}, state: lifecycle.DeliveryDelivered, attempt: 1, documents: 1},
		{name: "storage 404", yandex: &sim.Fault{Match: "resources", Kind: "404", Times: 1}, state: lifecycle.DeliveryFailed, lastError: fault.FileNotFound, attempt: 1},
		{name: "storage 401 once is mended by a refresh", yandex: &sim.Fault{Match: "resources", Kind: "401", Times: 1}, state: lifecycle.DeliveryDelivered, documents: 1},
		{name: "the download is cut", yandex: &sim.Fault{Match: "/download/", Kind: "cut", AfterBytes: mid, Times: 1}, state: lifecycle.DeliveryDelivered, attempt: 1, documents: 1},
		{name: "the download ends early", yandex: &sim.Fault{Match: "/download/", Kind: "short_body", AfterBytes: mid, Times: 1}, state: lifecycle.DeliveryDelivered, attempt: 1, documents: 1},
		{name: "the download is longer than declared", yandex: &sim.Fault{Match: "/download/", Kind: "long_body", Times: 3}, state: lifecycle.DeliveryFailed, lastError: fault.FileChanged, attempt: 3},
		{name: "the download stalls", yandex: &sim.Fault{Match: "/download/", Kind: "stall", AfterBytes: mid, Times: 1}, state: lifecycle.DeliveryDelivered, attempt: 1, documents: 1, timesOut: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := *patient
			if c.timesOut {
				s = *impatient
			}
			s.TB = t
			user := s.user(int64(1000 + chat))
			size := 3 << 20
			if c.telegram != nil && c.telegram.AfterBytes > 0 {
				size = 32 << 20 // more than the socket buffers hold
			}

			file, sum := s.file(c.name+".bin", size)
			defer s.telegram.ClearFaults()
			defer s.yandex.ClearFaults()

			if c.telegram != nil {
				c.telegram.Match = "sendDocument"
				s.telegram.AddFault(*c.telegram)
			}

			if c.yandex != nil {
				s.yandex.AddFault(*c.yandex)
			}

			start := time.Now()
			job := s.ended(s.deliver(user, file))
			t.Logf("attempt %d; events %v", job.Attempt, s.events(job))
			s.wantState(job, c.state, string(c.lastError))
			if job.Attempt != c.attempt {
				t.Errorf("attempt %d, want %d; events %v", job.Attempt, c.attempt, s.events(job))
			}
			if took := time.Since(start); took < c.atLeast {
				t.Errorf("took %s, want at least %s", took, c.atLeast)
			}

			documents := s.documents(*user.TelegramID)
			if len(documents) != c.documents || c.documents == 1 && documents[0].SHA256 != sum {
				t.Errorf("the chat has %+v, want %d documents with sha256 %s", documents, c.documents, sum)
			}
		})
	}
}

// TestNightFileGone deletes the file between the request and the attempt.
func TestNightFileGone(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(t, nil)
	user := s.user(100)
	gone, _ := s.file("gone.bin", 1000)
	emptied, _ := s.file("emptied.bin", 1000)
	first, second := s.deliver(user, gone), s.deliver(user, emptied)
	must(t, os.Remove(filepath.Join(s.files, "gone.bin")))
	must(t, os.Truncate(filepath.Join(s.files, "emptied.bin"), 0))
	s.startWorker()
	s.wantState(s.ended(first), lifecycle.DeliveryFailed, string(fault.FileNotFound))
	s.wantState(s.ended(second), lifecycle.DeliveryFailed, string(fault.FileEmpty))
}

// TestTokenRefused revokes the storage's token: the job fails, administrators get one alert, and a new token works.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	s := newRig(t, nil)
	s.startWorker()
	user := s.user(100)
	before, _ := s.file("before.bin", 1000)
	s.wantState(s.ended(s.deliver(user, before)), lifecycle.DeliveryDelivered, "")
	s.yandex.RevokeRefreshTokens()
	s.yandex.ExpireAccessTokens()

	for _, name := range []string{"one.bin", "two.bin"} {
		file, _ := s.file(name, 1000)
		s.wantState(
			s.ended(s.deliver(user, file)), lifecycle.DeliveryFailed, string(fault.YandexUnauthorized),
		)
	}

	alerts, err := s.store.Notices.TakeUnsentAlerts(t.Context(), 0)
	must(t, err)
	if len(alerts) != 1 || alerts[0].Kind != notice.AlertStorageToken {
		t.Errorf("alerts %+v, want one", alerts)
	}
}

// TestLongCacheChat loses the answer to an upload to the cache chat: the repeated upload is invisible to the user.
func TestLongCacheChat(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, map[string]string{"STAGECOACH_TELEGRAM_CACHE_CHAT": "5"})
	s.telegram.SendMessage(5, "cache")
	s.startWorker()
	user := s.user(100)
	file, sum := s.file("cached.mp3", 3<<20) // which Telegram would turn into a song
	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "lost_answer", Times: 1})
	job := s.ended(s.deliver(user, file))
	s.wantState(job, lifecycle.DeliveryDelivered, "")
	s.wantDocument(100, sum)
	if n := len(s.documents(5)); n != 2 {
		t.Errorf("the cache chat has %d documents, want both uploads", n)
	}
}

// TestLongSpool downloads to a temporary file first, resumes by Range, and leaves no files behind.
func TestLongSpool(t *testing.T) {
	night.Only(t)
	t.Parallel()
	dir := t.TempDir()
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_MODE": "spool", "STAGECOACH_SPOOL_DIR": dir})
	s.startWorker()
	user := s.user(100)
	file, sum := s.file("spooled.bin", 3<<20)
	s.yandex.AddFault(sim.Fault{Match: "/download/", Kind: "cut", AfterBytes: 1 << 20, Times: 2})
	job := s.ended(s.deliver(user, file))
	s.wantState(job, lifecycle.DeliveryDelivered, "")
	if job.Attempt != 0 {
		t.Errorf("attempt %d: a resumed download is no failed try", job.Attempt)
	}

	s.wantDocument(100, sum)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left in the spool: %v", left)
	}
}

// TestLongSpoolShared makes a Bot API server with a shared folder read the file itself; names are not shortened.
func TestLongSpoolShared(t *testing.T) {
	night.Only(t)
	t.Parallel()
	shared := t.TempDir()
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_MODE": "spool", "STAGECOACH_TELEGRAM_SHARED_DIR": shared})
	s.startWorker()
	user := s.user(100)
	name := "100%25 \"шум\" 🎬 " + strings.Repeat("я", 100) + ".mkv"
	file, sum := s.file(name, 1<<20)
	s.wantState(s.ended(s.deliver(user, file)), lifecycle.DeliveryDelivered, "")
	s.wantDocument(100, sum)
	if got := s.documents(100)[0].Name; got != name {
		t.Errorf("the name became %q", got)
	}
	if left, _ := os.ReadDir(shared); len(left) > 0 {
		t.Errorf("left in the shared folder: %v", left)
	}
}
