package transaction

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"go.temporal.io/sdk/workflow"

	"stagecoach/activities"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// Input is what an update brings. Outcome is for resolve only. An operator at the temporal CLI may leave out the actor.
type Input struct {
	Actor   int64                   `json:"actor,omitempty"` // a user id
	Outcome store.TransactionStatus `json:"outcome,omitempty"`
	Comment string                  `json:"comment,omitempty"`
	Payment string                  `json:"payment,omitempty"` // for resolve processed after payment_lost: its hash on the chain
}

// MaxComment is how many characters a comment may have.
const MaxComment = 4000

// Updates lists the actions that come as updates.
var Updates = []store.TransactionAction{store.TransactionActionRetry, store.TransactionActionResolve, store.TransactionActionWriteOff}

func checkInput(action store.TransactionAction, in Input) error {
	outcomes := store.TransactionOutcomes
	switch {
	case in.Actor < 0:
		return fault.New(fault.Validation, "actor is the id of a user").WithField("actor")
	case action == store.TransactionActionResolve && !slices.Contains(outcomes, in.Outcome):
		return fault.New(fault.Validation, "outcome must be one of %v", outcomes).WithField("outcome")
	case in.Payment != "" && !hashes.MatchString(in.Payment):
		return fault.New(fault.Validation, "payment is a hash: 64 hex digits").WithField("payment")
	case utf8.RuneCountInString(in.Comment) > MaxComment:
		return fault.New(fault.Validation, "a comment has at most %d characters", MaxComment).WithField("comment")
	default:
		return nil
	}
}

// listen sets the handlers of the updates and of the query. An update that comes before the record was read waits for that.
func (t *transaction) listen(ctx workflow.Context) error {
	for _, action := range Updates {
		err := workflow.SetUpdateHandlerWithOptions(ctx, string(action),
			func(ctx workflow.Context, in Input) (View, error) {
				return t.request(ctx, action, in, workflow.GetCurrentUpdateInfo(ctx).ID)
			},
			workflow.UpdateHandlerOptions{
				Validator:   func(_ workflow.Context, in Input) error { return t.validate(action, in) },
				Description: fmt.Sprintf("%s the transaction: actor (an administrator's user id), comment, and for resolve outcome", action),
			})
		if err != nil {
			return err
		}
	}
	return workflow.SetQueryHandler(ctx, StateQuery, func() (View, error) { return t.view(), nil })
}

// validate refuses without a trace what cannot be let through.
func (t *transaction) validate(action store.TransactionAction, in Input) error {
	err := checkInput(action, in)
	if err == nil && t.at.Status != "" {
		err = t.decide(action, in)
	}
	if err != nil {
		return lifecycle.Refusal(fault.As(err))
	}
	return nil
}

func (t *transaction) decide(action store.TransactionAction, in Input) error {
	_, err := Rules.Decide(t.at.Status, request{Action: action, To: in.Outcome, Roles: admin}, factsOf(t.at.Standing))
	return err
}

// request does what a person asks for, unless the rules are against it by the time that it is this one's turn. id is the update's;
// a signal has none.
func (t *transaction) request(ctx workflow.Context, action store.TransactionAction, in Input, id string) (View, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(ctx, func() bool { return t.at.Status != "" }); err != nil {
		return View{}, err
	}
	if err := t.mutex.Lock(ctx); err != nil {
		return View{}, err
	}
	defer t.mutex.Unlock()
	if err := t.decide(action, in); err != nil {
		return View{}, lifecycle.Refusal(fault.As(err))
	}
	act := transactions.RetryTransaction
	if action == store.TransactionActionResolve {
		act = transactions.ResolveTransaction
	} else if action == store.TransactionActionWriteOff {
		act = transactions.WriteOffRefund
	}
	position, err := lifecycle.Do(ctx, act, activities.TransactionRequest{
		Hash: t.hash, Attempt: t.at.Attempt, Actor: in.Actor, Outcome: in.Outcome, Comment: in.Comment, Payment: in.Payment, RequestID: id,
	})
	if err != nil {
		return View{}, err
	}
	t.cancelled, t.changed = false, t.changed || action == store.TransactionActionWriteOff
	t.take(ctx, position)
	return t.view(), nil
}
