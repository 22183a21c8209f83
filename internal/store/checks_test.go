package store_test

import (
	"testing"
	"time"

	"stagecoach/internal/store/operations"
)

func TestChecksOfProcesses(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()

	save := func(identity string, request int64, checks ...operations.Check) {
		t.Helper()
		if err := w.SaveChecks(ctx, identity, request, checks); err != nil {
			t.Fatal(err)
		}
	}

	found := func(identities ...string) []operations.Check {
		t.Helper()
		checks, err := w.ChecksOf(ctx, identities)
		if err != nil {
			t.Fatal(err)
		}
		return checks
	}

	save(
		"a", 0, operations.Check{System: "yandex", State: operations.CheckWorks},
		operations.Check{System: "telegram", State: operations.CheckOff},
	)
	save(
		"b", 0,
		operations.Check{System: "yandex", State: operations.CheckUnverified, Code: "C", Account: "who", Detail: "what", Next: "do it"},
	)
	save("a", 2, operations.Check{System: "yandex", State: operations.CheckRefused})
	if a := found("a"); len(a) != 1 || a[0].State != operations.CheckRefused || a[0].Request != 2 || a[0].FoundAt.IsZero() {
		t.Errorf("a second look of a process leaves %+v", a)
	}
	if b := found("b"); len(b) != 1 || b[0].Code != "C" || b[0].Account != "who" || b[0].Detail != "what" || b[0].Next != "do it" {
		t.Errorf("found %+v", b)
	}
	if none := found("c"); len(none) != 0 {
		t.Errorf("a process that looked at nothing has found %+v", none)
	}

	// What a process found that is gone is forgotten, that of a process that lives is not, however old it is.
	if err := w.SaveHeartbeat(ctx, operations.Process{Identity: "b", StartedAt: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}

	w.exec(`UPDATE process_checks SET found_at = now() - interval '2 hours'`)
	save("c", 0, operations.Check{System: "yandex", State: operations.CheckWorks})
	if all := found("a", "b", "c"); len(all) != 2 || all[0].Identity != "b" || all[1].Identity != "c" {
		t.Errorf("kept %+v", all)
	}
}

func TestCheckRequests(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()

	last := func(want int64) {
		t.Helper()
		if r, err := w.LastCheckRequest(ctx); err != nil || r.Number != want || (want > 0) == r.AskedAt.IsZero() {
			t.Fatalf("the last request is %+v, %v, want number %d", r, err, want)
		}
	}

	last(0)
	for number := range int64(3) {
		if err := w.RequestChecks(ctx); err != nil {
			t.Fatal(err)
		}
		last(number + 1)
	}
}

func TestAboutTheDatabase(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	about, err := w.About(t.Context())
	if err != nil || about.Version == "" || about.Database == "" || about.Role == "" || about.Schema == 0 {
		t.Errorf("%+v, %v", about, err)
	}
}
