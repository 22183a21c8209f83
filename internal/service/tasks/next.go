package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/waiting"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// Next is a request for ClaimNext.
type Next struct {
	WorkspaceID  int64         // 0: any workspace that the user is a member of
	Labels       []string      // the task has all of them
	Priority     string        // the lowest one acceptable; empty: any
	Comment      string        // of the claim
	LeaseSeconds int64         // of the claim; 0: no expiry
	Wait         time.Duration // how long to wait until a task is ready
}

const (
	unclaimed = "The caller who asked for the next task has gone."

	// secondTry is the time after which a claim may have been sent more than once.
	secondTry = 50 * time.Millisecond
)

// lostTo are the refusals of a claim after which another task may be claimed: this one is no longer ready, or not for
// this user.
var lostTo = []fault.Code{
	fault.TaskAlreadyClaimed, fault.InvalidTransition, fault.InsufficientAccess, fault.UnresolvedBlockers,
	fault.TaskNotFound, fault.WorkflowPaused,
}

// ClaimNext claims the best ready task for the user: the oldest of the most urgent ones. It waits while no task is
// ready, and returns nil if none became ready in time. The key may be empty; the same key returns the first task again,
// and searches anew after an answer without a task.
//
// Among any number of callers and processes one gets a task, because the claim itself decides; nothing is reserved in
// the record. A caller whose ctx has ended gets nothing. A task claimed for such a caller at the same moment is
// returned, unless a key lets the caller ask for it again.
func (c *Service) ClaimNext(ctx context.Context, user account.User, want Next, key string) (*task.Task, error) {
	if err := want.check(user); err != nil {
		return nil, err
	}

	n := newNextClaim(c, user, want, key)
	if want.Wait <= 0 || c.Line == nil {
		return n.take(ctx)
	}

	// The caller joins the line before its first check, so that it misses no event in between.
	place, err := c.Line.Join(user)
	if err != nil {
		return nil, err
	}

	enough := time.NewTimer(want.Wait)
	defer enough.Stop()

	for {
		found, err := n.take(ctx)
		if found != nil || err != nil {
			c.Line.Leave(place, found != nil)
			return found, err
		}
		if !c.Line.Rest(ctx, place, enough.C) {
			c.Line.Leave(place, false)
			return nil, n.gone(ctx)
		}
	}
}

// check validates a request before anything is read.
func (want Next) check(user account.User) error {
	switch {
	case lifecycle.Plain(want.Comment) == "":
		return fault.New(fault.CommentRequired, "claim needs: a comment").WithField("comment")
	case len(want.Labels) > MaxLabels || slices.ContainsFunc(want.Labels, isNoLabel):
		return fault.Invalid("labels", "at most %d labels of 1 to %d characters, on one line each", MaxLabels, MaxLabel)
	case want.Priority != "" && !slices.Contains(task.Priorities, want.Priority):
		return fault.Invalid("priority", "priority is low, normal, high or critical")
	}

	if err := lifecycle.CheckTaskInput(lifecycle.TaskActionClaim, want.input(user)); err != nil {
		return err
	}
	return nil
}

// input is the claim of a task not yet held by the user.
func (want Next) input(user account.User) lifecycle.TaskInput {
	return lifecycle.TaskInput{
		Actor: user.ID, Comment: want.Comment, LeaseSeconds: want.LeaseSeconds, Fresh: true,
	}
}

// nextClaim is one request for the next task. It is confined to one goroutine.
type nextClaim struct {
	tasks   *Service
	user    account.User
	want    Next
	wish    task.Wish
	request core.Request
	choice  core.Choice // the last one; zero: none, or unknown
	read    bool        // the record was queried for an earlier choice
	seen    bool        // the user may see the workspace
}

func newNextClaim(c *Service, user account.User, want Next, key string) *nextClaim {
	wish := task.Wish{
		MemberID: user.ID, WorkspaceID: want.WorkspaceID, Labels: want.Labels, Priority: want.Priority,
	}

	if want.WorkspaceID != 0 {
		wish.MemberID = viewerOf(user)
	}

	asked := want
	asked.Wait = 0 // a repeated request may use another wait
	return &nextClaim{
		tasks: c, user: user, want: want, wish: wish, seen: want.WorkspaceID == 0,
		request: core.Request{UserID: user.ID, Key: key, Asked: "next " + fingerprint(asked)},
	}
}

// take claims the best task currently ready, or returns nil.
func (n *nextClaim) take(ctx context.Context) (*task.Task, error) {
	var lost []int64 // during this check
	for {
		id, err := n.choose(ctx, lost)
		if err != nil {
			return nil, err
		}
		if id == 0 {
			return n.withoutTask(ctx)
		}

		found, settled, err := n.try(ctx, id)
		n.tasks.tried.End(id)
		switch {
		case !settled:
			if found, err = n.resume(ctx); found != nil || err != nil {
				return found, err
			}
		case found != nil || err != nil:
			return found, err
		default:
			lost = append(lost, id)
		}
	}
}

// choose reserves for this attempt the best ready task that no other caller of this process is trying to claim,
// skipping the lost ones; 0: there is none.
func (n *nextClaim) choose(ctx context.Context, lost []int64) (id int64, err error) {
	for {
		limit := n.tasks.tried.Choices()
		found, err := n.tasks.Store.Tasks.Next(ctx, n.wish, lost, limit)
		if err != nil {
			return 0, err
		}

		id := n.tasks.tried.Begin(found)
		if id != 0 || len(found) < limit || limit == waiting.MostChoices {
			return id, nil
		}
	}
}

// withoutTask returns what the same request got before, when no task is ready.
func (n *nextClaim) withoutTask(ctx context.Context) (*task.Task, error) {
	if !n.seen {
		if _, err := n.tasks.Workspace(ctx, n.user, n.want.WorkspaceID); err != nil {
			return nil, err
		}
		n.seen = true
	}

	if n.read || n.request.Key == "" {
		return nil, nil
	}
	return n.resume(ctx)
}

// resume reads the same request's earlier choice, by whatever process, and claims that task: its claim may have been
// sent. nil: the request did not get the task, or has chosen none.
func (n *nextClaim) resume(ctx context.Context) (*task.Task, error) {
	var answer task.Answer
	choice, done, err := n.tasks.Store.Answers.ChoiceOf(ctx, n.request, &answer)
	if err != nil {
		return nil, err
	}

	n.read = true
	if done {
		found, err := answer.Outcome()
		return &found, err
	}

	if choice == (core.Choice{}) || choice == n.choice {
		return nil, nil
	}

	n.choice = choice
	return n.claim(ctx)
}

// try settles a request with a key on a task and claims it. settled is false if the same request has chosen another
// task, concurrently or before.
func (n *nextClaim) try(ctx context.Context, id int64) (found *task.Task, settled bool, err error) {
	choice := core.Choice{ID: id, Try: n.choice.Try + 1}
	if n.request.Key != "" {
		kept, err := n.tasks.Store.Answers.Choose(ctx, n.request, n.choice, choice)
		if !kept || err != nil {
			return nil, err != nil, err
		}
	}

	n.choice = choice
	found, err = n.claim(ctx)
	return found, true, err
}

// claim claims the chosen task; nil: it is lost.
func (n *nextClaim) claim(ctx context.Context) (*task.Task, error) {
	if err := n.gone(ctx); err != nil {
		return nil, err
	}

	began, outlives := time.Now(), context.WithoutCancel(ctx)
	claim := taskAct{action: lifecycle.TaskActionClaim, in: n.want.input(n.user)}
	found, err := n.tasks.decide(outlives, n.user, n.choice.ID, nil, claim, n.request.Attempt(n.choice).ID())
	switch {
	case slices.Contains(lostTo, fault.CodeOf(err)), errors.Is(err, errNoWorkflow):
		return nil, nil
	case err != nil:
		return nil, err
	case n.request.Key != "" && (n.read || n.choice.Try > 1 || time.Since(began) > secondTry):
		return n.confirm(outlives, found)
	case n.request.Key == "" && ctx.Err() != nil:
		n.giveBack(outlives, found.ID)
		return nil, n.gone(ctx)
	default:
		return &found, nil
	}
}

// confirm returns a task if the same request has meanwhile settled on another one: its claim was considered lost but
// succeeded.
func (n *nextClaim) confirm(ctx context.Context, found task.Task) (*task.Task, error) {
	var answer task.Answer
	choice, _, err := n.tasks.Store.Answers.ChoiceOf(ctx, n.request, &answer)
	if err != nil || choice == n.choice {
		return &found, err
	}

	n.giveBack(ctx, found.ID)
	n.choice = choice
	return n.claim(ctx)
}

// giveBack returns an abandoned claim's task to NEW. If this fails, its deadline ends the claim.
func (n *nextClaim) giveBack(ctx context.Context, id int64) {
	if _, err := n.tasks.Status(ctx, n.user, id, lifecycle.TaskNew, unclaimed, ""); err != nil {
		n.tasks.Log.Warn("task claimed for a disconnected caller not released", "task", id, "error", err)
	}
}

// gone is the error of a request whose caller no longer waits for the answer.
func (n *nextClaim) gone(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return temporalio.Unreachable(fmt.Errorf("the caller has gone: %w", err))
	}
	return nil
}
