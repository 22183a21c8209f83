package transactions

import (
	"context"
	"fmt"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// decides describes a tool by which an administrator decides about money. Its preview is read with another scope.
func decides(name, description string, destroys bool, preview account.Scope) tool.About {
	return tool.About{
		Name: name, Description: description, Scopes: []account.Scope{lifecycle.TransactionScope, preview},
		Admins: true,
		Money:  true, Destroys: destroys, Repeatable: true, Outside: true,
	}
}

// decided is a transaction before or after a decision about it.
type decided struct {
	Hash        hash                       `json:"hash"`
	Status      lifecycle.TransactionState `json:"status"`
	AmountNano  int64                      `json:"amount_nano"`
	Stars       int64                      `json:"stars,omitempty"`
	NeedsReview bool                       `json:"needs_review,omitempty"`
	Others      payer                      `json:"written_by_others"`
}

func decidedOf(t shape.Transaction) decided {
	b := briefOf(t)
	return decided{b.Hash, b.Status, b.AmountNano, b.Stars, b.NeedsReview, b.Others}
}

type retrying struct {
	Hash    hash   `json:"hash"`
	Comment string `json:"comment,omitempty" jsonschema:"why"`
}

type retryArguments struct {
	retrying
	Confirmation string `json:"confirmation,omitempty"`
}

func (a retryArguments) Split() (retrying, string) { return a.retrying, a.Confirmation }

func retry() tool.Tool {
	about := decides(
		"transaction_retry", "Tries again to buy the Stars of a failed transaction.", false, account.ScopeRead,
	)
	return tool.NewConfirmed[retryArguments](about, tool.Step[retrying, shape.Transaction, decided]{
		Warns: func(in retrying) string { return "This pays again for the order of a failed transaction." },
		Before: func(ctx context.Context, c *tool.Call, in retrying) (shape.Transaction, error) {
			return before(ctx, c, in.Hash)
		},
		Do: func(ctx context.Context, c *tool.Call, in retrying, key tool.Key) (shape.Transaction, error) {
			return tool.Post[shape.Transaction](ctx, c, path(in.Hash, "/retry"), tool.Body{"comment": in.Comment}, key)
		},
		Show: decidedOf,
	})
}

func before(ctx context.Context, c *tool.Call, h hash) (shape.Transaction, error) {
	t, err := read(ctx, c, h)
	return t.Transaction, err
}

type outcome string

var _ = tool.Enum[outcome]("processed", "failed", "processing")

type resolving struct {
	Hash    hash    `json:"hash"`
	Outcome outcome `json:"outcome" jsonschema:"one of its resolutions"`
	Comment string  `json:"comment" jsonschema:"what you have found out"`
	Payment string  `json:"payment,omitempty" jsonschema:"after payment_lost: the hash of our payment on the chain"`
}

type resolveArguments struct {
	resolving
	Confirmation string `json:"confirmation,omitempty"`
}

func (a resolveArguments) Split() (resolving, string) { return a.resolving, a.Confirmation }

func resolve() tool.Tool {
	about := decides("transaction_resolve",
		"Ends a transaction that needs review, as you have found out. It is final.", true, account.ScopeRead,
	)
	return tool.NewConfirmed[resolveArguments](about, tool.Step[resolving, shape.Transaction, decided]{
		Warns: func(in resolving) string {
			return fmt.Sprintf("This ends the review: the transaction becomes %s.", in.Outcome)
		},
		Before: func(ctx context.Context, c *tool.Call, in resolving) (shape.Transaction, error) {
			return before(ctx, c, in.Hash)
		},
		Do: func(ctx context.Context, c *tool.Call, in resolving, key tool.Key) (shape.Transaction, error) {
			body := tool.Body{"outcome": in.Outcome, "comment": in.Comment, "payment": in.Payment}
			return tool.Post[shape.Transaction](ctx, c, path(in.Hash, "/resolve"), body, key)
		},
		Show: decidedOf,
	})
}

type pausing struct {
	Pause  bool   `json:"pause" jsonschema:"false: go on paying"`
	Reason string `json:"reason,omitempty"`
}

type pauseArguments struct {
	pausing
	Confirmation string `json:"confirmation,omitempty"`
}

func (a pauseArguments) Split() (pausing, string) { return a.pausing, a.Confirmation }

type paused struct {
	Paused bool `json:"paused"`
	Held   bool `json:"held"`
}

func pause() tool.Tool {
	about := decides("payments_pause", "Stops all payments, or lets them go on.", true, account.ScopeOperate)
	return tool.NewConfirmed[pauseArguments](about, tool.Step[pausing, shape.Switches, paused]{
		Warns: func(in pausing) string {
			if in.Pause {
				return "This stops all payments."
			}
			return "This lets payments go on, and ends a hold of the program."
		},
		Before: func(ctx context.Context, c *tool.Call, _ pausing) (shape.Switches, error) { return switches(ctx, c) },
		Do: func(ctx context.Context, c *tool.Call, in pausing, _ tool.Key) (shape.Switches, error) {
			if !in.Pause {
				return tool.Post[shape.Switches](ctx, c, "/v1/payments/resume", nil, "")
			}
			return tool.Post[shape.Switches](ctx, c, "/v1/payments/pause", tool.Body{"reason": in.Reason}, "")
		},
		Show: func(s shape.Switches) paused { return paused{s.Pause != nil, s.Hold != nil} },
	})
}
