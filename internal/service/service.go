// Package service is what the API, the bot, the operations and the activities ask of each workload: create, find, act,
// and the start of its workflow. It decides by the tables of internal/lifecycle and drives workflows by their names
// alone.
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

// start starts a row's workflow. One that was started before is left alone, or not, as the options say.
func start(ctx context.Context, c client.Client, o client.StartWorkflowOptions, workflow string, row any) error {
	o.TaskQueue = lifecycle.MainQueue
	_, err := c.ExecuteWorkflow(ctx, o, workflow, row)
	if _, before := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); err != nil && !before {
		return temporalio.Unreachable(err)
	}
	return nil
}

// pollUntil looks again and again, with growing pauses, until look is done or has failed, patience is over, or ctx
// ends.
func pollUntil(ctx context.Context, patience time.Duration, look func() (done bool, err error)) error {
	deadline := time.Now().Add(patience)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		done, err := look()
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

// keptAnswer is an answer as the record keeps it: what the request has led to, or why it was refused.
type keptAnswer[E any] interface {
	Told() (E, error)
}

// once decides whether a request was made before: the record keeps the first answer under the key that its user gave,
// for 24 hours, in the database transaction that does what is asked. A request without a key is its own.
//
// Three others know a request by the id that is made from its key, each for a moment in which there is no answer yet.
// None of them decides after that:
//   - Temporal joins updates of one id within a run, so that a request that comes again while the first is under way waits for it.
//   - A task's workflow hands its last answers to its next run, where Temporal does not know the ids any more.
//   - The row of a task names the request of its last transition, for the one whose answer was lost as the workflow ended.
func once[E any, A keptAnswer[E]](
	ctx context.Context, s *store.Store, r core.Request, answerOf func(*E, *fault.Error) A, lasts func(*fault.Error) bool, decide func(id string) (E, error),
) (entity E, err error) {
	var answer A
	if found, err := s.Answered(ctx, r, &answer); err != nil {
		return entity, err
	} else if found {
		return answer.Told()
	}

	made, err := decide(r.ID())
	switch refusal := fault.As(err); {
	case err == nil: // it is kept already, with what was done, unless that was done before it was asked for by this key
		answer = answerOf(&made, nil)
	case refusal != nil && lasts(refusal):
		answer = answerOf(nil, refusal.WithCause(nil))
	default: // nothing that would still be true for one who asks again
		return entity, err
	}

	if answer, err = core.KeepAnswer(ctx, s.Answers, r, answer); err != nil {
		return entity, err
	}
	return answer.Told()
}
