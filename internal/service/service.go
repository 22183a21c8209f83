// Package service is what the API, the bot, the operations and the activities ask of each workload: create, find, act,
// and start its workflow. It decides by the tables of internal/lifecycle and knows workflows by their names alone.
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

// rolesOf returns the roles that a user has towards what belongs to owner.
func rolesOf(user account.User, owner int64) []lifecycle.Role {
	var roles []lifecycle.Role
	if user.ID == owner {
		roles = append(roles, lifecycle.Owner)
	}
	if user.IsAdmin() {
		roles = append(roles, lifecycle.Admin)
	}
	return roles
}

// start starts a row's workflow. The options decide whether a workflow that was started before is refused; refused reports that.
func start(
	ctx context.Context, c client.Client, o client.StartWorkflowOptions, workflow string, args ...any,
) (refused bool, err error) {
	o.TaskQueue = lifecycle.MainQueue
	_, err = c.ExecuteWorkflow(ctx, o, workflow, args...)
	if _, refused = errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); err != nil && !refused {
		return false, temporalio.Unreachable(err)
	}
	return refused, nil
}

// pollUntil calls check with growing pauses until check is done or fails, patience is over, or ctx ends.
func pollUntil(ctx context.Context, patience time.Duration, check func() (done bool, err error)) error {
	deadline := time.Now().Add(patience)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		done, err := check()
		if done || err != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// keptAnswer is an answer as the record keeps it: the outcome of the request, or why it was refused.
type keptAnswer[E any] interface {
	Outcome() (E, error)
}

// once executes a request at most once: the record keeps the first answer under the key that the user has given, for 24
// hours, in the database transaction that does what is asked. A request without a key is never a repetition. decide may
// say that the record has kept what it returns; it need not know.
//
// Temporal, too, joins updates of one id within a run: a request that is repeated while the first one is in flight waits
// for it.
func once[E any, A keptAnswer[E]](
	ctx context.Context, s *store.Store, r core.Request, answerOf func(*E, *fault.Error) A, lasts func(*fault.Error) bool,
	decide func(id string) (made E, kept bool, err error),
) (entity E, err error) {
	var answer A
	if found, err := s.Answers.Answered(ctx, r, &answer); err != nil {
		return entity, err
	} else if found {
		return answer.Outcome()
	}

	return settle(ctx, s, r, answerOf, lasts, decide)
}

// settle is once for a request that was not answered when the record was asked.
func settle[E any, A keptAnswer[E]](
	ctx context.Context, s *store.Store, r core.Request, answerOf func(*E, *fault.Error) A, lasts func(*fault.Error) bool,
	decide func(id string) (made E, kept bool, err error),
) (entity E, err error) {
	var answer A
	made, kept, err := decide(r.ID())
	switch refusal := fault.As(err); {
	case kept:
		return made, nil
	case err == nil: // perhaps it is kept already
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

// Trial says what a request would do, by the record and the table of rules alone. A request that comes later may find
// another record, and what the record does not know may refuse it.
type Trial struct {
	To             string // the state that it would lead to
	ChangesNothing bool
	Version        int64 // the number of the newest event of what was seen; 0: it does not exist yet
	Refusal        *fault.Error
}

// trialOf returns what a table has decided about a row.
func trialOf[S ~string](to S, version int64, err error) (Trial, error) {
	refusal := fault.As(err)
	if err != nil && refusal == nil {
		return Trial{}, err
	}
	return Trial{To: string(to), Version: version, Refusal: refusal}, nil
}
