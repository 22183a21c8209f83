package store_test

import (
	"slices"
	"sync"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
)

// TestWhoIsAskedHearsOfNothing invites a person to a busy office: none of their webhooks is woken, no event is visible,
// no notification is planned and no task is available to them, until they agree.
func TestWhoIsAskedHearsOfNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	hook := o.hook(o.stranger, "task")
	o.sent(hook.ID)
	o.wake()
	o.must(o.Tasks.Invite(t.Context(), o.ann.ID, o.Workspace.ID, o.stranger.ID))

	hears := func() (heard []string) {
		t.Helper()
		from, err := o.Webhooks.WakeCursor(t.Context())
		o.must(err)
		made := o.made(task.NewTask{})[0]
		events := o.after(from)
		audience, err := o.Notices.AudienceOf(t.Context(), events, []int64{o.stranger.ID})
		o.must(err)
		if slices.ContainsFunc(events, func(e core.StreamedEvent) bool { return audience.Sees(o.stranger, e) }) {
			heard = append(heard, "stream")
		}
		if slices.Contains(o.wake(), hook.ID) {
			heard = append(heard, "webhook")
		}
		next, err := o.Tasks.Next(t.Context(), task.Wish{MemberID: o.stranger.ID}, nil, 10)
		o.must(err)
		if len(next) > 0 {
			heard = append(heard, "next")
		}
		if _, err := o.act(made, o.stranger.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{}); err == nil {
			heard = append(heard, "claim")
		}
		return heard
	}

	if heard := hears(); len(heard) != 0 {
		t.Errorf("before they agree they are reached by %v", heard)
	}
	o.must(o.Tasks.Agree(t.Context(), o.Workspace.ID, o.stranger.ID))
	if heard, want := hears(), []string{"stream", "webhook", "next", "claim"}; !slices.Equal(heard, want) {
		t.Errorf("once they agree they are reached by %v, want %v", heard, want)
	}
}

// invitationNotices returns the due notification of invitations, and the states of all.
func (w *rig) invitationNotices() (due []notice.Notice, states string) {
	w.t.Helper()
	due, err := w.Notices.Due(w.t.Context(), []string{task.NoticesOfInvitations}, 10)
	w.must(err)
	w.scan(`SELECT coalesce(string_agg(state, ' '), '') FROM news WHERE workload = $1`, &states, task.NoticesOfInvitations)
	return due, states
}

// TestOneNoticeOfInvitationsADay lets twenty strangers invite at once, and others while the notification is sent: the
// person has one notification, and the next one is due a day after it was sent.
func TestOneNoticeOfInvitationsADay(t *testing.T) {
	t.Parallel()
	w := newQuotaRig(t, 0)
	rooms := make([]int64, 24)
	for i := range rooms {
		rooms[i] = w.workspace(w.bob)
	}
	w.exec(`UPDATE users SET telegram_id = 4711 WHERE id = $1`, w.anna.ID)
	asks := func(room int64) { w.must(w.Tasks.Invite(t.Context(), w.bob.ID, room, w.anna.ID)) }

	var all sync.WaitGroup
	for _, room := range rooms[:20] {
		all.Go(func() { asks(room) })
	}
	all.Wait()
	due, states := w.invitationNotices()
	if len(due) != 1 || states != notice.NoticeDue {
		t.Fatalf("due are %v, in all %s", due, states)
	}

	w.exec(`UPDATE news SET due_at = now() - interval '3 hours'`) // it waited for a long time
	sent := due[0]
	_, err := w.Notices.Take(t.Context(), &sent)
	w.must(err)
	asks(rooms[20]) // while it is being sent
	w.must(w.Notices.Save(t.Context(), sent, notice.NoticeSent, 0))
	asks(rooms[21])
	if due, states := w.invitationNotices(); len(due) != 0 || states != notice.NoticeDue {
		t.Errorf("the same day due are %v, in all %s", due, states)
	}

	w.exec(`UPDATE news SET due_at = due_at - interval '23 hours 59 minutes'`)
	if due, _ := w.invitationNotices(); len(due) != 0 {
		t.Error("told again within a day")
	}
	w.exec(`UPDATE news SET due_at = due_at - interval '2 minutes'`)
	if due, _ := w.invitationNotices(); len(due) != 1 {
		t.Fatal("not told a day later")
	}

	w.must(w.Notices.Save(t.Context(), sent, notice.NoticeLost, 0)) // answered before
	asks(rooms[22])
	if due, _ := w.invitationNotices(); len(due) != 1 {
		t.Error("what reached nobody counts as told")
	}

	if err := w.Tasks.Refuse(t.Context(), rooms[23], w.anna.ID); fault.CodeOf(err) != fault.WorkspaceNotFound {
		t.Errorf("refused what nobody asks: %v", err)
	}
	asks(rooms[23])
	w.must(w.Tasks.Refuse(t.Context(), rooms[23], w.anna.ID))
	w.exec(`UPDATE news SET state = 'sent'`)
	asks(rooms[23])
	if _, states := w.invitationNotices(); states != notice.NoticeSent {
		t.Errorf("of a workspace that was refused: %s", states)
	}
}

// TestInvitationsAreBounded invites more people than a workspace may have members: the rest are not invited, which is
// not revealed, and people who agree become members only while there is room.
func TestInvitationsAreBounded(t *testing.T) {
	t.Parallel()
	const maximum = 5
	w := newQuotaRig(t, 0)
	room := w.workspace(w.anna)
	w.SetQuotas(core.Quotas{"members": maximum})
	people := make([]account.User, 20)
	for i := range people {
		people[i] = w.user(int64(300 + i))
	}

	var all sync.WaitGroup
	for _, person := range people {
		all.Go(func() { w.must(w.Tasks.Invite(t.Context(), w.anna.ID, room, person.ID)) })
	}
	all.Wait()
	if asked := w.number(`SELECT count(*) FROM workspace_invitations WHERE workspace_id = $1`, room); asked != maximum {
		t.Errorf("%d are asked, want %d", asked, maximum)
	}

	agreed, late := 0, 0
	for _, person := range people {
		asked, err := w.Tasks.Invitations(t.Context(), person.ID, 0, 10)
		w.must(err)
		if len(asked) == 0 {
			continue
		}
		if agreed < maximum-1 {
			w.must(w.Tasks.Agree(t.Context(), room, person.ID))
			agreed++
			continue
		}

		wantQuota(t, w.Tasks.Agree(t.Context(), room, person.ID), "members", maximum)
		if asked, err = w.Tasks.Invitations(t.Context(), person.ID, 0, 10); err != nil || len(asked) != 1 {
			t.Errorf("who was late is asked %v, %v", asked, err)
		}
		late++
	}
	if agreed != maximum-1 || late != 1 {
		t.Errorf("%d have agreed, %d were late", agreed, late)
	}
	wantQuota(t, w.Tasks.Invite(t.Context(), w.anna.ID, room, 999_999), "members", maximum)
}

// TestForgottenPeopleAreNotAsked forgets an invited person.
func TestForgottenPeopleAreNotAsked(t *testing.T) {
	t.Parallel()
	w := newQuotaRig(t, 0)
	room := w.workspace(w.bob)
	w.must(w.Tasks.Invite(t.Context(), w.bob.ID, room, w.anna.ID))
	_, _, err := w.Operations.Forget(t.Context(), w.anna.ID, w.boss.ID)
	w.must(err)
	w.must(w.Tasks.Invite(t.Context(), w.bob.ID, room, w.anna.ID))
	if rows := w.number(`SELECT count(*) FROM workspace_invitations WHERE user_id = $1`, w.anna.ID); rows != 0 {
		t.Errorf("%d invitations are left", rows)
	}
}
