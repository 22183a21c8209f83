package e2e

import (
	"fmt"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
)

// slow makes uploads take a few seconds.
func (s *rig) slow(bytesPerSecond int64) {
	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "throttle", BytesPerSecond: bytesPerSecond})
}

// inState waits until a job is in a state.
func (s *rig) inState(job delivery.Job, state lifecycle.DeliveryState) {
	s.Helper()
	wait.Eventually(
		s, fmt.Sprintf("job %d is %s", job.ID, state), func() bool { return s.reload(job).State == state },
	)
}

// streaming requests a file of size MiB in chat 100, and waits until it streams at perSecond MiB a second.
func (s *rig) streaming(size, perSecond int) (job delivery.Job, sum string) {
	s.Helper()
	file, sum := s.file("big.bin", size<<20)
	s.slow(int64(perSecond) << 20)
	job = s.deliver(s.user(100), file)
	s.inState(job, lifecycle.DeliveryStreaming)
	return job, sum
}

// TestLongFenced revokes the claim of a streaming worker: it must neither send its last bytes nor write to the record.
func TestLongFenced(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, nil)
	s.startWorker()
	job, sum := s.streaming(24, 1) // its last bytes are out only after many seconds
	s.sql(`UPDATE jobs SET claim = claim + 1 WHERE id = $1`, job.ID)
	s.telegram.ClearFaults() // the next ride is fast
	job = s.ended(job)
	s.wantState(job, lifecycle.DeliveryDelivered, "")
	s.wantDocument(100, sum)
	if job.Attempt != 1 || job.Claim != 3 {
		t.Errorf("attempt %d with claim %d: the first ride has written", job.Attempt, job.Claim)
	}
}

// TestAfterTheLastByte interrupts a delivery whose last bytes have been sent: the outcome is unknown, and the file is
// not sent again.
func TestAfterTheLastByte(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		interrupt func(*rig, account.User, delivery.Job)
		settings  map[string]string // short is only what the test waits for
	}{
		"time is up": {
			func(*rig, account.User, delivery.Job) {}, map[string]string{"STAGECOACH_DELIVERY_JOB_TIMEOUT": "6s"},
		},
		"worker killed": {
			func(s *rig, _ account.User, _ delivery.Job) { s.worker.kill(); s.startWorker() },
			map[string]string{"STAGECOACH_DELIVERY_HEARTBEAT_TIMEOUT": "3s"},
		},
		"worker stopped": {
			func(s *rig, _ account.User, _ delivery.Job) { s.worker.stop(); s.startWorker() },
			map[string]string{"STAGECOACH_WORKER_STOP_TIMEOUT": "3s"},
		},
		"cancelled": {func(s *rig, user account.User, job delivery.Job) {
			got, err := s.deliveries.Cancel(s.Context(), user, job.ID, "")
			if err != nil && (fault.CodeOf(err) != fault.TemporalUnavailable || got.CancelRequestedAt == nil) { // it waits for the answer
				s.Fatal(err)
			}
		}, map[string]string{"STAGECOACH_DELIVERY_JOB_TIMEOUT": "20s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRig(t, c.settings)
			s.startWorker()
			user := s.user(100)
			file, _ := s.file("small.bin", 1000)
			s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "timeout", AfterBody: true, Times: 1})
			job := s.deliver(user, file)
			wait.Eventually(s, "the last bytes are out", func() bool { return s.reload(job).AckPendingAt != nil })

			c.interrupt(s, user, job)
			s.wantState(s.ended(job), lifecycle.DeliveryFailed, string(fault.OutcomeUnknown))
			if n := len(s.documents(100)); n > 1 {
				t.Errorf("the chat has %d documents", n)
			}
			wait.Eventually(s, "operators find its workflow", func() bool {
				return len(s.listed(`WorkflowType="Delivery" AND Attention=true AND ExecutionStatus="Failed"`)) == 1
			})
		})
	}
}

// TestLongExpires leaves a job without a worker for its TTL.
func TestLongExpires(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_TTL": "2s", "STAGECOACH_DELIVERY_PARALLEL": "1"})
	s.startWorker()
	s.slow(1 << 20)
	user := s.user(100)
	long, _ := s.file("long.bin", 8<<20)
	late, _ := s.file("late.bin", 1000)
	first := s.deliver(user, long)
	wait.Eventually(s, "a job is streaming", func() bool {
		if first = s.reload(first); first.State == lifecycle.DeliveryExpired { // the machine was too slow
			first = s.deliver(user, long)
		}
		return first.State == lifecycle.DeliveryStreaming
	})

	s.wantState(s.ended(s.deliver(user, late)), lifecycle.DeliveryExpired, string(fault.NotClaimedInTime))
	s.wantState(s.ended(first), lifecycle.DeliveryDelivered, "")
}

// TestLongARetryDoesNotExpire makes a job fail, and wait for its second attempt for longer than its TTL.
func TestLongARetryDoesNotExpire(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_TTL": "3s", "STAGECOACH_DELIVERY_PARALLEL": "1"})
	s.startWorker()
	s.yandex.AddFault(sim.Fault{Match: "/download/", Kind: "500", Times: 1})
	s.slow(1 << 20)
	user := s.user(100)
	long, _ := s.file("long.bin", 8<<20)
	late, _ := s.file("late.bin", 1000)
	failed := s.deliver(user, late)
	wait.Eventually(s, "a try has failed", func() bool {
		if failed = s.reload(failed); failed.State == lifecycle.DeliveryExpired { // the machine was too slow
			failed = s.deliver(user, late)
		}
		return failed.Attempt == 1
	})

	first := s.deliver(user, long)
	wait.Eventually(s, "a job has the slot", func() bool {
		if first = s.reload(first); first.State == lifecycle.DeliveryExpired {
			first = s.deliver(user, long)
		}
		return first.Claim > 0
	})
	s.wantState(s.ended(failed), lifecycle.DeliveryDelivered, "")
	s.wantState(s.ended(first), lifecycle.DeliveryDelivered, "")
}

// TestLongBlockedMeanwhile blocks a user between the request and the claim.
func TestLongBlockedMeanwhile(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, nil)
	user := s.user(100)
	file, _ := s.file("file.bin", 1000)
	job := s.deliver(user, file)
	_, err := s.store.Accounts.ChangeUser(t.Context(), user.ID, account.UserChange{Status: account.UserBlocked})
	must(t, err)
	s.startWorker()
	s.wantState(s.ended(job), lifecycle.DeliveryFailed, string(fault.UserNotActive))
	blocked, err := s.store.Accounts.UserByID(t.Context(), user.ID)
	must(t, err)
	if _, _, err := s.deliveries.Request(t.Context(), blocked, file.ID, nonce(), delivery.SourceAPI); fault.CodeOf(err) != fault.UserNotActive {
		t.Errorf("a blocked user's request gave %v", err)
	}
}

// TestLongResend delivers known content by file_id, and streams it if Telegram no longer knows the file_id.
func TestLongResend(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, nil)
	s.startWorker()
	file, sum := s.file("same.bin", 3<<20)
	downloads := func() (n int) {
		for _, request := range s.yandex.Requests() {
			if request.Method == "GET" && len(request.Path) > 10 && request.Path[:10] == "/download/" {
				n++
			}
		}
		return n
	}

	first, second, third := s.user(100), s.user(101), s.user(102)
	s.wantState(s.ended(s.deliver(first, file)), lifecycle.DeliveryDelivered, "")
	s.wantState(s.ended(s.deliver(second, file)), lifecycle.DeliveryDelivered, "")
	if n := downloads(); n != 1 {
		t.Errorf("%d downloads, want 1: known content moves no bytes", n)
	}

	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "wrong_file_id", Times: 1})
	s.wantState(s.ended(s.deliver(third, file)), lifecycle.DeliveryDelivered, "")
	if n := downloads(); n != 2 {
		t.Errorf("%d downloads, want 2: a refused file_id falls back to streaming", n)
	}

	for _, chat := range []int64{100, 101, 102} {
		s.wantDocument(chat, sum)
	}
}

// TestNightFairness checks that one user's many files do not delay others' few: as soon as all have waiting jobs, users
// take turns.
func TestNightFairness(t *testing.T) {
	t.Parallel()
	night.Only(t)
	const users, files = 10, 20
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_PARALLEL": "2"})
	s.startWorker()
	s.slow(100 << 10) // a file takes 0.2 s, so that all are queued before half are delivered
	var shelf []delivery.File
	for i := range files {
		file, _ := s.file(fmt.Sprintf("file-%d.bin", i), 20<<10)
		shelf = append(shelf, file)
	}

	var jobs []delivery.Job
	for u := range users { // first all of the first user, then all of the second, …
		user := s.user(int64(200 + u))
		for _, file := range shelf {
			jobs = append(jobs, s.deliver(user, file))
		}
	}

	allAsked := len(s.claims())
	for _, job := range jobs {
		s.wantState(s.ended(job), lifecycle.DeliveryDelivered, "")
	}

	var claims []int64
	// other tests' transactions may delay some
	wait.Eventually(s, "every claim is in the stream of events", func() bool {
		claims = s.claims()
		return len(claims) >= users*files
	})
	if len(claims) != users*files {
		t.Fatalf("%d claims, want %d", len(claims), users*files)
	}

	// In three rounds every user with waiting jobs is served about three times.
	waiting := count(claims[allAsked:])
	round := claims[allAsked:min(allAsked+3*len(waiting), len(claims))]
	least, most := len(round), 0
	for user, left := range waiting {
		if left >= 3 {
			served := count(round)[user]
			least, most = min(least, served), max(most, served)
		}
	}

	if least < 1 || most > 5*least {
		t.Errorf("in three rounds somebody was served %d times and somebody %d times: %v", least, most, round)
	}

	for user, n := range count(claims) {
		if documents := len(s.documents(199 + user)); n != files || documents != files {
			t.Errorf("user %d: %d claims and %d documents, want %d", user, n, documents, files)
		}
	}
}

// claims lists the users of the claimed jobs, in order.
func (s *rig) claims() []int64 {
	s.Helper()
	events, err := s.store.Notices.EventsAfter(s.Context(), core.Cursor{}, 10000)
	must(s, err)
	var owners []int64
	for _, event := range events {
		if event.Type == "claimed" {
			owners = append(owners, *event.OwnerID)
		}
	}
	return owners
}

func count(ids []int64) map[int64]int {
	n := map[int64]int{}
	for _, id := range ids {
		n[id]++
	}
	return n
}
