// Package service offers the API, the bot, the operations and the activities what each workload can do: create, find,
// act, and start its workflow. It decides by the tables of internal/lifecycle and knows workflows only by name.
package service

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/temporalio"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// RolesOf returns a user's roles towards something that owner owns.
func RolesOf(user account.User, owner int64) []lifecycle.Role {
	return RolesOfActor(user.ID, user.IsAdmin(), owner)
}

// RolesOfActor is RolesOf for the sender of an update; 0: an operator or the system.
func RolesOfActor(actor int64, admin bool, owner int64) (roles []lifecycle.Role) {
	if actor == 0 {
		return []lifecycle.Role{lifecycle.System}
	}
	if actor == owner {
		roles = append(roles, lifecycle.Owner)
	}
	if admin {
		roles = append(roles, lifecycle.Admin)
	}
	return roles
}

// Start starts a row's workflow. The options decide whether an already started workflow is refused; refused reports
// that.
func Start(
	ctx context.Context, c client.Client, o client.StartWorkflowOptions, workflow string, args ...any,
) (refused bool, err error) {
	o.TaskQueue = lifecycle.MainQueue
	_, err = c.ExecuteWorkflow(ctx, o, workflow, args...)
	if _, refused = errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); err != nil && !refused {
		return false, temporalio.Unreachable(err)
	}
	return refused, nil
}

// AskAgain bounds one attempt to reach a workflow; the next attempt asks for the outcome of the same update.
const AskAgain = 10 * time.Second

// acceptTime is how long a workflow may take to accept an update. Without a worker none is accepted.
const acceptTime = 4 * time.Second

// Update sends an update to the running workflow and returns its answer. late: it was accepted but takes longer than
// patience.
func Update[Answer any](
	ctx context.Context, c client.Client, patience time.Duration, o client.UpdateWorkflowOptions,
) (answer Answer, late bool, err error) {
	accepting, cancel := context.WithTimeout(ctx, acceptTime)
	defer cancel()
	o.WaitForStage = client.WorkflowUpdateStageAccepted
	handle, err := c.UpdateWorkflow(accepting, o)
	if err != nil {
		return answer, false, err
	}

	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = handle.Get(waiting, &answer)
	return answer, err != nil && waiting.Err() != nil, err
}

// keptAnswer is a stored answer: the request's outcome, or the reason for its refusal.
type keptAnswer[E any] interface {
	Outcome() (E, error)
}

// Once executes a request at most once: the database transaction that does the work also stores the first answer under
// the caller's key, for 24 hours. A request without a key is never a repetition. decide may report that the record has
// stored the answer, but need not know.
//
// Temporal also joins updates with the same id within a run: a request repeated while the first one is in flight waits
// for it.
func Once[E any, A keptAnswer[E]](
	ctx context.Context, s *store.Store, r core.Request, answerOf func(*E, *fault.Error) A, lasts func(*fault.Error) bool,
	decide func(id string) (made E, kept bool, err error),
) (entity E, err error) {
	var answer A
	if found, err := s.Answers.Answered(ctx, r, &answer); err != nil {
		return entity, err
	} else if found {
		return answer.Outcome()
	}

	return Settle(ctx, s, r, answerOf, lasts, decide)
}

// Settle is Once for a request that had no answer when the record was checked.
func Settle[E any, A keptAnswer[E]](
	ctx context.Context, s *store.Store, r core.Request, answerOf func(*E, *fault.Error) A, lasts func(*fault.Error) bool,
	decide func(id string) (made E, kept bool, err error),
) (entity E, err error) {
	var answer A
	made, kept, err := decide(r.ID())
	switch refusal := fault.As(err); {
	case kept:
		return made, nil
	case err == nil: // possibly stored already
		answer = answerOf(&made, nil)
	case refusal != nil && lasts(refusal):
		answer = answerOf(nil, refusal.WithCause(nil))
	default: // a refusal that may not apply to a repeated request
		return entity, err
	}

	if answer, err = core.KeepAnswer(ctx, s.Answers, r, answer); err != nil {
		return entity, err
	}
	return answer.Outcome()
}
