package transaction_test

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
)

// operated are a rig's transactions, with its operators' actions.
type operated struct{ *transactions.Service }

func (o operated) Retry(ctx context.Context, by account.User, hash, comment, key string) (transaction.Transaction, error) {
	return o.Act(ctx, hash, lifecycle.TransactionActionRetry, lifecycle.TransactionInput{Actor: by.ID, Comment: comment}, key)
}

func (o operated) WriteOff(ctx context.Context, by account.User, hash, comment, key string) (transaction.Transaction, error) {
	return o.Act(ctx, hash, lifecycle.TransactionActionWriteOff, lifecycle.TransactionInput{Actor: by.ID, Comment: comment}, key)
}

func (o operated) Resolve(
	ctx context.Context, by account.User, hash string, outcome lifecycle.TransactionState, payment, comment, key string,
) (transaction.Transaction, error) {
	in := lifecycle.TransactionInput{Actor: by.ID, Outcome: outcome, Payment: payment, Comment: comment}
	return o.Act(ctx, hash, lifecycle.TransactionActionResolve, in, key)
}

func (o operated) Review(ctx context.Context, by account.User, hash, comment, key string) (transaction.Transaction, error) {
	return o.Act(ctx, hash, lifecycle.TransactionActionReview, lifecycle.TransactionInput{Actor: by.ID, Comment: comment}, key)
}
