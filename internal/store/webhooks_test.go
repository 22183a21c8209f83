package store_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/webhook"
)

const (
	hookAddress = "https://receiver.example/secret-path"
	hookSecret  = "whsec_c2VjcmV0"
)

// hook makes a user's webhook that receives the events from now on, for all workloads or some.
func (w *rig) hook(user account.User, workloads ...string) webhook.Webhook {
	w.t.Helper()
	now, err := w.Notices.EventsNow(w.t.Context())
	w.must(err)
	made, _, err := w.Webhooks.Create(w.t.Context(), core.Request{UserID: user.ID}, hookAddress, hookSecret, workloads, now)
	w.must(err)
	return made
}

// sent lets a webhook's sender pass all events, as the activity does, and wait; it returns the sender's claim.
func (w *rig) sent(id int64) (claim int64) {
	w.t.Helper()
	begun, err := w.Webhooks.Begin(w.t.Context(), id)
	w.must(err)

	for at := begun.Cursor(); ; {
		events := w.after(at)
		if len(events) == 0 {
			rests, err := w.Webhooks.Rest(w.t.Context(), id, begun.Claim, at)
			w.must(err)
			if rests {
				return begun.Claim
			}
			continue // an event came meanwhile
		}

		at = events[len(events)-1].Cursor()
	}
}

// wake wakes everything that waits for events that have not woken anything yet.
func (w *rig) wake() (woken []int64) {
	w.t.Helper()
	for {
		from, err := w.Webhooks.WakeCursor(w.t.Context())
		w.must(err)
		events := w.after(from)
		if len(events) == 0 {
			return woken
		}

		some, moved, err := w.Webhooks.Wake(w.t.Context(), from, events)
		w.must(err)
		if !moved {
			w.t.Fatal("another process has moved the place")
		}

		woken = append(woken, some...)
	}
}

// after lists all events after a position.
func (w *rig) after(from core.Cursor) []core.StreamedEvent {
	w.t.Helper()
	return testdb.EventsAfter(w.t, w.url, w.Store, from)
}

// TestWebhooksWakeWhoSees requires an event to wake the waiting webhooks of the users who may see it, and no others.
func TestWebhooksWakeWhoSees(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann, bob := w.user(1), w.user(2)
	boss, err := w.Accounts.CreateUser(t.Context(), account.User{Role: account.RoleAdmin, Status: account.UserActive}, "")
	w.must(err)
	all, tasks, deliveries := w.hook(ann), w.hook(ann, "task"), w.hook(ann, "delivery")
	others, admins := w.hook(bob), w.hook(boss)
	hooks := []webhook.Webhook{all, tasks, deliveries, others, admins}
	for _, one := range hooks {
		w.sent(one.ID)
	}

	w.wake()
	for _, one := range hooks {
		w.sent(one.ID)
	}

	w.job(ann)
	woken := w.wake()
	slices.Sort(woken)
	if want := []int64{all.ID, deliveries.ID, admins.ID}; !slices.Equal(woken, want) {
		t.Errorf("woken are %v, want %v", woken, want)
	}

	w.job(ann)
	if woken := w.wake(); len(woken) != 0 {
		t.Errorf("%v were woken again, before they have begun", woken)
	}
}

// TestWebhookRestsOrIsWoken makes a webhook wait around the moment at which an event wakes others: whichever comes
// first, it is woken or does not wait.
func TestWebhookRestsOrIsWoken(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann := w.user(1)
	made := w.hook(ann)
	w.sent(made.ID)
	w.wake()
	claim := w.sent(made.ID)
	found, err := w.Webhooks.ByID(t.Context(), ann.ID, made.ID)
	w.must(err)
	before := found.Cursor()

	w.job(ann) // it does not see this one before it waits again
	if rests, err := w.Webhooks.Rest(t.Context(), made.ID, claim, before); err != nil || !rests {
		t.Fatalf("nobody was woken by the event yet, but it does not rest: %v", err)
	}
	if woken := w.wake(); !slices.Equal(woken, []int64{made.ID}) {
		t.Fatalf("woken are %v, want the webhook", woken)
	}

	begun, err := w.Webhooks.Begin(t.Context(), made.ID)
	w.must(err)
	w.job(ann) // this one wakes others while the webhook has not read it
	w.wake()
	if rests, err := w.Webhooks.Rest(t.Context(), made.ID, begun.Claim, begun.Cursor()); err != nil || rests {
		t.Errorf("it rests although an event has woken others before: %v", err)
	}

	w.sent(made.ID)
}

// TestWebhookWakesAreRepeated finds a webhook whose signal was lost, and none whose sender has begun.
func TestWebhookWakesAreRepeated(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	made := w.hook(w.user(1))
	if ids, err := w.Webhooks.Unanswered(t.Context(), time.Hour, 10); err != nil || len(ids) != 0 {
		t.Errorf("a young wake is repeated: %v, %v", ids, err)
	}
	woken, err := w.Webhooks.Unanswered(t.Context(), 0, 10)
	if err != nil || len(woken) != 1 || woken[0].ID != made.ID || woken[0].Failing {
		t.Fatalf("unanswered are %+v, %v", woken, err)
	}

	w.must(w.Webhooks.Signalled(t.Context(), made.ID, woken[0].WokenAt.Add(-time.Second)))
	if again, err := w.Webhooks.Unanswered(t.Context(), 0, 10); err != nil || len(again) != 1 {
		t.Errorf("a signal for an earlier wake answers a later one: %+v, %v", again, err)
	}

	w.must(w.Webhooks.Signalled(t.Context(), made.ID, woken[0].WokenAt))
	if again, err := w.Webhooks.Unanswered(t.Context(), 0, 10); err != nil || len(again) != 0 {
		t.Errorf("Temporal has the signal, but %+v are unanswered, %v", again, err)
	}

	w.past(`UPDATE webhooks SET woken_at = now()`)
	w.sent(made.ID)
	if ids, err := w.Webhooks.Unanswered(t.Context(), 0, 10); err != nil || len(ids) != 0 {
		t.Errorf("a sender has begun, but %v are unanswered, %v", ids, err)
	}

	w.past(`UPDATE webhooks SET waiting = false, updated_at = now() - interval '11 minutes'`)
	live, err := w.Webhooks.Live(t.Context(), 0, 0, 10)
	if err != nil || len(live) != 1 || !live[0].Stuck {
		t.Errorf("it neither waits nor sends: %+v, %v", live, err)
	}

	paused := w.hook(w.user(2))
	w.past(`UPDATE webhooks SET state = 'PAUSED', reason = 'x' WHERE id = $1`, paused.ID)
	active, err := w.Webhooks.Active(t.Context(), []int64{made.ID, paused.ID, 987654})
	if err != nil || !slices.Equal(active, []int64{made.ID}) {
		t.Errorf("active are %v, %v", active, err)
	}
}

// past runs a statement, bypassing the store.
func (w *rig) past(sql string, args ...any) {
	w.t.Helper()
	_, err := testdb.DB(w.t, w.url).Exec(w.t.Context(), sql, args...)
	w.must(err)
}

// TestWebhookClaims fences off a sender whose webhook was changed, paused or given to another sender.
func TestWebhookClaims(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann := w.user(1)
	ctx, made := t.Context(), w.hook(ann)
	at := core.Cursor{XID: made.XID + 1, ID: 1}

	for name, change := range map[string]func() error{
		"another sender":  func() error { _, err := w.Webhooks.Begin(ctx, made.ID); return err },
		"another address": func() error { _, err := w.Webhooks.Change(ctx, ann.ID, made.ID, webhook.Change{}); return err },
		"a replay":        func() error { _, err := w.Webhooks.Replay(ctx, ann.ID, made.ID, made.Cursor()); return err },
		"a secret":        func() error { _, err := w.Webhooks.Rotate(ctx, ann.ID, made.ID, hookSecret, time.Hour); return err },
		"a test":          func() error { _, err := w.Webhooks.AskTest(ctx, ann.ID, made.ID); return err },
		"a pause":         func() error { _, err := w.Webhooks.Pause(ctx, ann.ID, made.ID); return err },
		"a resumption":    func() error { _, err := w.Webhooks.Resume(ctx, ann.ID, made.ID, nil); return err },
	} {
		begun, err := w.Webhooks.Begin(ctx, made.ID)
		w.must(err)
		if held, err := w.Webhooks.Advance(ctx, made.ID, begun.Claim, at, true); err != nil || !held {
			t.Fatalf("%s: the present sender writes nothing: %v", name, err)
		}

		w.must(change())
		for what, write := range map[string]func() (bool, error){
			"advances": func() (bool, error) { return w.Webhooks.Advance(ctx, made.ID, begun.Claim, at, true) },
			"rests":    func() (bool, error) { return w.Webhooks.Rest(ctx, made.ID, begun.Claim, at) },
			"fails":    func() (bool, error) { return w.Webhooks.Fail(ctx, made.ID, begun.Claim, fault.WebhookTimeout) },
			"stops":    func() (bool, error) { return w.Webhooks.Stop(ctx, made.ID, begun.Claim, fault.ReceiverGone) },
			"skips":    func() (bool, error) { return w.Webhooks.LoseEvents(ctx, made.ID, begun.Claim, at) },
			"tells":    func() (bool, error) { return w.Webhooks.ToldOfLostEvents(ctx, made.ID, begun.Claim) },
		} {
			if held, err := write(); err != nil || held {
				t.Errorf("%s: the sender before %s: %v", name, what, err)
			}
		}
	}
}

// TestWebhookFails follows a webhook with a failing receiver until it is paused and resumed.
func TestWebhookFails(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann, ctx := w.user(1), t.Context()
	made := w.hook(ann)
	begun, err := w.Webhooks.Begin(ctx, made.ID)
	w.must(err)
	if stopped, err := w.Webhooks.StopFailing(ctx, made.ID); err != nil || stopped {
		t.Fatalf("it does not fail, and is paused: %v", err)
	}

	_, err = w.Webhooks.Fail(ctx, made.ID, begun.Claim, fault.WebhookTimeout)
	w.must(err)
	if stopped, err := w.Webhooks.StopFailing(ctx, made.ID); err != nil || !stopped {
		t.Fatalf("it is not paused: %v", err)
	}

	paused, err := w.Webhooks.ByID(ctx, ann.ID, made.ID)
	w.must(err)
	if paused.State != lifecycle.WebhookPaused || paused.Reason != string(fault.ReceiverFailed) || paused.FailingSince == nil || paused.LastError != fault.WebhookTimeout {
		t.Errorf("paused: %+v", paused)
	}

	due, err := w.Notices.Due(ctx, []string{lifecycle.WebhookEvents}, 10)
	if err != nil || len(due) != 1 || due[0].UserID != ann.ID || due[0].EntityID != fmt.Sprint(made.ID) {
		t.Errorf("the owner is told %+v, %v", due, err)
	}

	resumed, err := w.Webhooks.Resume(ctx, ann.ID, made.ID, nil)
	w.must(err)
	if resumed.State != lifecycle.WebhookActive || resumed.FailingSince != nil || resumed.Reason != "" {
		t.Errorf("resumed: %+v", resumed)
	}

	events, err := w.Notices.EventsOf(ctx, lifecycle.WebhookEvents, fmt.Sprint(made.ID))
	w.must(err)
	var types []string
	for _, event := range events {
		types = append(types, event.Type+" "+event.Comment)
	}

	if want := []string{"created ", "paused receiver_failed", "resumed "}; !slices.Equal(types, want) {
		t.Errorf("the events are %q, want %q", types, want)
	}
}

// TestWebhooksAreSealed reads the row from the database itself, opens it with a wrong key, and with a new one after
// re-encryption.
func TestWebhooksAreSealed(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann := w.user(1)
	made := w.hook(ann)
	rotated, err := w.Webhooks.Rotate(t.Context(), ann.ID, made.ID, "whsec_bmV3", time.Hour)
	if err != nil || !slices.Equal(rotated.Secrets, []string{"whsec_bmV3", hookSecret}) || rotated.Address != hookAddress {
		t.Fatalf("rotated: %v, %v", rotated.Secrets, err)
	}

	var stored string
	w.must(testdb.DB(t, w.url).QueryRow(
		t.Context(),
		`SELECT encode(address, 'escape') || encode(secret, 'escape') || encode(previous_secret, 'escape') || w::text FROM webhooks w`,
	).Scan(&stored))

	for _, secret := range []string{"receiver", "secret-path", "whsec", "bmV3"} {
		if strings.Contains(stored, secret) {
			t.Errorf("%s lies open in the database", secret)
		}
	}

	fresh := bytes.Repeat([]byte{8}, 32)
	other, err := store.Open(t.Context(), w.url, fresh)
	w.must(err)
	t.Cleanup(other.Close)
	if _, err := other.Webhooks.ByID(t.Context(), ann.ID, made.ID); err == nil || !strings.Contains(err.Error(), "STAGECOACH_ENCRYPTION_KEY") {
		t.Errorf("the wrong key gave %v", err)
	}

	both, err := store.Open(t.Context(), w.url, fresh, testdb.Key)
	w.must(err)
	t.Cleanup(both.Close)
	if rows, err := both.Webhooks.Reseal(t.Context()); err != nil || rows != 1 {
		t.Fatalf("%d rows were encrypted again, %v", rows, err)
	}
	if got, err := other.Webhooks.ByID(t.Context(), ann.ID, made.ID); err != nil || got.Address != hookAddress || len(got.Secrets) != 2 {
		t.Errorf("the new key gave %v", err)
	}
}

// TestWebhooksAreRestored moves the record to another server's transactions, which are fewer: a position beyond the end
// goes back to it, and what can no longer be sent in order is reported as lost.
func TestWebhooksAreRestored(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann, ctx := w.user(1), t.Context()
	seen, behind, early, idle := w.hook(ann), w.hook(ann), w.hook(ann), w.hook(ann)
	w.wake()
	w.sent(seen.ID)
	w.past(`UPDATE events SET xid = (xid::text::bigint + 1000000000)::text::xid8`)
	w.past(`UPDATE webhooks SET xid = '2000000000' WHERE id = $1`, seen.ID)
	w.past(`UPDATE webhooks SET xid = '900000000', event_id = 0 WHERE id = $1`, behind.ID)
	w.past(`UPDATE webhooks SET xid = '5', event_id = 0, floor_xid = '1000000000', floor_id = 7 WHERE id = $1`, early.ID)
	w.past(`UPDATE webhooks SET xid = '5', event_id = 0, waiting = true WHERE id = $1`, idle.ID)
	w.past(`UPDATE webhook_cursor SET xid = '2000000000'`)
	w.must(w.Operations.AfterRestore(ctx))
	w.must(w.Operations.AfterRestore(ctx))

	end, err := w.Notices.EventsEnd(ctx)
	w.must(err)
	for name, c := range map[string]struct {
		id   int64
		lost bool
	}{"it had seen all": {seen.ID, false}, "it was behind": {behind.ID, true}, "it was far behind": {early.ID, true}, "it waited for long": {idle.ID, false}} {
		got, err := w.Webhooks.ByID(ctx, ann.ID, c.id)
		w.must(err)
		if !got.Cursor().Before(end) || got.EventsLost != c.lost || got.Waiting || got.Floor() != (core.Cursor{}) {
			t.Errorf("%s: %+v, want a place before %v, lost %t", name, got.Cursor(), end, c.lost)
		}
	}

	if ids, err := w.Webhooks.Unanswered(ctx, 0, 10); err != nil || len(ids) != 4 {
		t.Errorf("%d webhooks begin anew, %v", len(ids), err)
	}

	w.sent(seen.ID)
	w.wake()
	w.sent(seen.ID)
	w.job(ann)
	if woken := w.wake(); !slices.Equal(woken, []int64{seen.ID}) {
		t.Errorf("an event after the restore wakes %v, want %d", woken, seen.ID)
	}
}

// TestWebhookQuota refuses more webhooks than the limit.
func TestWebhookQuota(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.SetQuotas(core.Quotas{"webhooks": 2})
	ann := w.user(1)
	w.hook(ann)
	w.hook(ann)
	_, _, err := w.Webhooks.Create(t.Context(), core.Request{UserID: ann.ID}, hookAddress, hookSecret, nil, core.Cursor{})
	wantQuota(t, err, "webhooks", 2)
}

// TestAgentOwnerIsNotified pauses an agent's webhook: its owner, who has a chat, is notified.
func TestAgentOwnerIsNotified(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann, ctx := w.user(1), t.Context()
	agent, err := w.Accounts.CreateAgent(
		ctx, ann.ID, "an agent", account.Token{Name: "one", Scopes: []account.Scope{account.ScopeRead}}, account.NewToken(),
	)

	w.must(err)
	made := w.hook(agent)
	if stopped, err := w.Webhooks.Stop(ctx, made.ID, 0, fault.ReceiverGone); err != nil || !stopped {
		t.Fatalf("it is not paused: %v", err)
	}

	due, err := w.Notices.Due(ctx, []string{lifecycle.WebhookEvents}, 10)
	if err != nil || len(due) != 1 || due[0].UserID != ann.ID {
		t.Errorf("told are %+v, %v", due, err)
	}
	if _, err := w.Webhooks.OfNotice(ctx, ann.ID, made.ID); err != nil {
		t.Error(err)
	}
	if _, err := w.Webhooks.ByID(ctx, ann.ID, made.ID); fault.CodeOf(err) != fault.WebhookNotFound {
		t.Errorf("the owner of an agent reaches its webhook: %v", err)
	}
}
