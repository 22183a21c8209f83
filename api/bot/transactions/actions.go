package transactions

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"slices"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/transaction"
)

// transactionsShown is how many transactions /tx lists of each kind that needs an administrator.
const transactionsShown = 5

// showTransaction is /tx <hash>, and the button of a transaction. Without a hash it lists those that need an
// administrator.
func (h *handlers) showTransaction(ctx context.Context, r *chat.Request, args chat.Args) error {
	if r.Args == "" && len(args) == 0 {
		return h.listTransactions(ctx, r)
	}

	t, err := h.find(ctx, r, args)
	if err != nil {
		return err
	}
	h.Reply(ctx, r, transactionView(r.User.Language, t))
	return nil
}

// find finds the transaction of a button, or the one whose hash follows the command. The audit log names it.
func (h *handlers) find(ctx context.Context, r *chat.Request, args chat.Args) (transaction.Transaction, error) {
	hash := strings.ToLower(r.Args)
	if len(args) > 0 {
		hash = unpackHash(args[0])
	}

	t, err := h.transactions.Find(ctx, hash)
	if err == nil {
		r.Subject = "transaction/" + t.Hash
	}
	return t, err
}

// listTransactions lists the transactions that need an administrator.
func (h *handlers) listTransactions(ctx context.Context, r *chat.Request) error {
	var needy []transaction.Transaction
	for _, filter := range []transaction.Filter{
		{NeedsReview: true}, {StuckFor: h.transactions.StuckAfter}, {Owed: true}, {MayRetry: true},
	} {
		filter.Limit = transactionsShown
		found, err := h.transactions.List(ctx, filter)
		if err != nil {
			return err
		}

		for _, t := range found {
			listed := slices.ContainsFunc(needy, func(other transaction.Transaction) bool { return other.Hash == t.Hash })
			if !listed {
				needy = append(needy, t)
			}
		}
	}

	v := chat.View{Text: r.Say(textTransactions)}
	for _, t := range needy {
		label := fmt.Sprintf("%.8s %s", t.Hash, r.Say(words.TransactionStates[t.State]))
		v.Rows = append(v.Rows, chat.Press(label, "xt", packHash(t.Hash)))
	}

	if len(needy) == 0 {
		v.Text = r.Say(textNoTransactions)
	}

	h.Post(ctx, r.Chat, v)
	return nil
}

// askRetry is /retry <hash>, and its button. A retry may move money, so it only asks for confirmation.
func (h *handlers) askRetry(ctx context.Context, r *chat.Request, args chat.Args) error {
	if r.Args == "" && len(args) == 0 {
		return chat.Hint{Text: textRetryUsage}
	}

	t, err := h.find(ctx, r, args)
	if err != nil {
		return err
	}

	v := transactionView(r.User.Language, t)
	if mayRetry(t) {
		v.Text += "\n\n" + r.Say(textRetryQuestion)
		v.Rows = chat.Rows(
			chat.Press(r.Say(labelRetryYes), "xy", packHash(t.Hash), t.Attempt),
			chat.Press(r.Say(labelRetryNo), "xt", packHash(t.Hash)),
		)
	} else {
		v.Text += "\n\n" + r.Say(textNoRetry)
	}

	h.Reply(ctx, r, v)
	return nil
}

// retryTransaction is the button that confirms. It applies to one attempt: a repeated or late press changes nothing.
func (h *handlers) retryTransaction(ctx context.Context, r *chat.Request, args chat.Args) error {
	t, err := h.find(ctx, r, args)
	if err != nil {
		return err
	}

	if attempt := args.Number(1); int64(t.Attempt) == attempt {
		key := fmt.Sprintf("bot/retry/%s/%d", t.Hash, attempt)
		if _, err = h.act(ctx, r, t, lifecycle.TransactionActionRetry, key); err != nil {
			return err
		}
		if t, err = h.transactions.Find(ctx, t.Hash); err != nil {
			return err
		}
		r.Note = r.Say(textRetried)
	}

	h.Reply(ctx, r, transactionView(r.User.Language, t))
	return nil
}

// act performs an operation on a transaction in the name of the requester.
func (h *handlers) act(
	ctx context.Context, r *chat.Request, t transaction.Transaction, action lifecycle.TransactionAction, key string,
) (transaction.Transaction, error) {
	return h.transactions.Act(ctx, t.Hash, action, lifecycle.TransactionInput{Actor: r.User.ID, Attempt: t.Attempt}, key)
}

// reviewTransaction is the button that requests a review: it moves no money. It applies to one attempt: a repeated or
// late press changes nothing.
func (h *handlers) reviewTransaction(ctx context.Context, r *chat.Request, args chat.Args) error {
	t, err := h.find(ctx, r, args)
	if err != nil {
		return err
	}

	if attempt := args.Number(1); int64(t.Attempt) == attempt && mayReview(t) {
		key := fmt.Sprintf("bot/review/%s/%d", t.Hash, attempt)
		if t, err = h.act(ctx, r, t, lifecycle.TransactionActionReview, key); err != nil {
			return err
		}
		r.Note = r.Say(words.ReviewAsked)
	}

	h.Reply(ctx, r, transactionView(r.User.Language, t))
	return nil
}

func mayRetry(t transaction.Transaction) bool {
	return slices.Contains(transactions.Actions(t), lifecycle.TransactionActionRetry)
}

func mayReview(t transaction.Transaction) bool {
	return slices.Contains(transactions.Actions(t), lifecycle.TransactionActionReview)
}

// packHash encodes a hash for a button, in base64: the hex form alone would fill the button's data.
func packHash(hash string) string {
	raw, err := hex.DecodeString(hash)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// unpackHash decodes a button's hash; "" if it is invalid.
func unpackHash(packed string) string {
	raw, err := base64.RawURLEncoding.DecodeString(packed)
	if err != nil {
		return ""
	}
	return hex.EncodeToString(raw)
}

// transactionView draws a transaction for an administrator.
func transactionView(language string, t transaction.Transaction) chat.View {
	unknown := words.TextNotKnown.In(language)
	stars := unknown
	if t.Stars > 0 {
		stars = words.Number(t.Stars)
	}

	username := html.EscapeString(cmp.Or(t.Username, unknown))
	lines := []string{
		"<code>" + t.Hash + "</code>", words.TransactionStates[t.State].In(language),
		textTransaction.In(language, words.Gram(language, t.AmountNano), stars, username, t.Attempt),
	}

	lines = append(lines, attentionLines(language, t)...)
	lines = append(lines, moneyLines(language, t)...)

	v := chat.View{Text: strings.Join(lines, "\n")}
	if mayRetry(t) {
		v.Rows = chat.Rows(chat.Press(chat.LabelTryAgain.In(language), "xr", packHash(t.Hash)))
	}
	if mayReview(t) {
		v.Rows = chat.Rows(chat.Press(labelReview.In(language), "xv", packHash(t.Hash), t.Attempt))
	}
	return v
}

// attentionLines say why a transaction failed, whether it is retried, and why it needs review.
func attentionLines(language string, t transaction.Transaction) (lines []string) {
	if t.ErrorMessage != "" {
		lines = append(lines, "❗ "+html.EscapeString(t.ErrorMessage)+" ("+string(t.ErrorClass)+")")
	}

	switch at := t.RetryAt; {
	case at != nil:
		lines = append(lines, textNextRetry.In(language, words.Clock(*at)))
	case t.GivenUpAt != nil:
		lines = append(lines, textNoMoreRetries.In(language))
	}

	if t.NeedsReview {
		why := html.EscapeString(t.ReviewReason) + "."
		if known, ok := words.ReviewTexts[t.ReviewReason]; ok {
			why = known.In(language)
		}
		lines = append(lines, textNeedsReview.In(language, why, t.Hash))
	}

	return lines
}

// moneyLines say what is owed, what is kept, and which payment was made.
func moneyLines(language string, t transaction.Transaction) (lines []string) {
	if t.RefundDueNano > 0 {
		lines = append(lines, textRefundDue.In(language, words.Gram(language, t.RefundDueNano)))
	}
	if t.DustNano > 0 {
		lines = append(lines, textRefundKept.In(language, words.Gram(language, t.DustNano)))
	}
	if t.FragmentTransactionHash != "" {
		lines = append(lines, textPaidBy.In(language, t.FragmentTransactionHash))
	}
	return lines
}
