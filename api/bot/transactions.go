package bot

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// transactionsShown is how many transactions /tx lists of each kind that needs somebody.
const transactionsShown = 5

var errNotTheirs = fault.New(fault.TransactionNotFound, "there is no such transaction")

func (b *Bot) starsButtons() []button {
	return []button{
		{prefix: "xt", command: "tx", run: b.openTransaction},     // xt:<transaction>
		{prefix: "xr", command: "retry", run: b.askRetryPressed},  // xr:<transaction>
		{prefix: "xy", command: "retry", run: b.retryTransaction}, // xy:<transaction>:<attempt>
	}
}

// A hash in hex fills a button alone, so buttons have it in base64.
func packHash(hash string) string {
	raw, err := hex.DecodeString(hash)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func unpackHash(args []string) string {
	if len(args) == 0 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(args[0])
	if err != nil {
		return ""
	}
	return hex.EncodeToString(raw)
}

// showTransaction is /tx <hash>; without one it lists those that need somebody.
func (b *Bot) showTransaction(ctx context.Context, r *request) error {
	if r.args == "" {
		return b.listTransactions(ctx, r)
	}
	t, err := b.transactions.Find(ctx, strings.ToLower(r.args))
	if err != nil {
		return err
	}
	r.subject = subjectOfTransaction(t)
	b.post(ctx, r.chat, transactionView(r.user.Language, t))
	return nil
}

func (b *Bot) openTransaction(ctx context.Context, r *request, args []string) error {
	t, err := b.transactions.Find(ctx, unpackHash(args))
	if err != nil {
		return err
	}
	r.subject = subjectOfTransaction(t)
	b.redraw(ctx, r, transactionView(r.user.Language, t))
	return nil
}

func (b *Bot) listTransactions(ctx context.Context, r *request) error {
	var needy []store.Transaction
	for _, filter := range []store.TransactionFilter{
		{NeedsReview: true}, {StuckFor: b.transactions.StuckAfter}, {Owed: true}, {MayRetry: true},
	} {
		filter.Limit = transactionsShown
		found, err := b.transactions.List(ctx, filter)
		if err != nil {
			return err
		}
		for _, t := range found {
			if !slices.ContainsFunc(needy, func(other store.Transaction) bool { return other.Hash == t.Hash }) {
				needy = append(needy, t)
			}
		}
	}

	language := r.user.Language
	v := view{text: r.say(textTransactions)}
	for _, t := range needy {
		label := fmt.Sprintf("%.8s %s", t.Hash, transactionStates[t.State].in(language))
		v.rows = append(v.rows, press(label, "xt", packHash(t.Hash)))
	}

	if len(needy) == 0 {
		v.text = r.say(textNoTransactions)
	}

	b.post(ctx, r.chat, v)
	return nil
}

// askRetry is /retry <hash>: money may move, so the person has to say it twice.
func (b *Bot) askRetry(ctx context.Context, r *request) error {
	if r.args == "" {
		return hint{text: textRetryUsage}
	}
	v, err := b.retryQuestion(ctx, r, strings.ToLower(r.args))
	if err == nil {
		b.post(ctx, r.chat, v)
	}
	return err
}

func (b *Bot) askRetryPressed(ctx context.Context, r *request, args []string) error {
	v, err := b.retryQuestion(ctx, r, unpackHash(args))
	if err == nil {
		b.redraw(ctx, r, v)
	}
	return err
}

func (b *Bot) retryQuestion(ctx context.Context, r *request, hash string) (view, error) {
	t, err := b.transactions.Find(ctx, hash)
	if err != nil {
		return view{}, err
	}

	r.subject = subjectOfTransaction(t)
	if !slices.Contains(service.TransactionActions(t), lifecycle.TransactionActionRetry) {
		v := transactionView(r.user.Language, t)
		v.text += "\n\n" + r.say(textNoRetry)
		return v, nil
	}

	v := transactionView(r.user.Language, t)
	v.text += "\n\n" + r.say(textRetryQuestion)
	v.rows = rows(
		press(r.say(labelRetryYes), "xy", packHash(t.Hash), t.Attempt), press(r.say(labelRetryNo), "xt", packHash(t.Hash)),
	)

	return v, nil
}

// retryTransaction is the answer yes. It is meant for one attempt: pressed again, or late, it changes nothing.
func (b *Bot) retryTransaction(ctx context.Context, r *request, args []string) error {
	t, err := b.transactions.Find(ctx, unpackHash(args))
	if err != nil {
		return err
	}

	attempt := number(args, 1)
	if r.subject = subjectOfTransaction(t); int64(t.Attempt) == attempt {
		key := fmt.Sprintf("bot/retry/%s/%d", t.Hash, attempt)
		if _, err = b.transactions.Retry(ctx, r.user, t.Hash, "", key); err != nil {
			return err
		}
		r.note = r.say(textRetried)
		if t, err = b.transactions.Find(ctx, t.Hash); err != nil {
			return err
		}
	}

	b.redraw(ctx, r, transactionView(r.user.Language, t))
	return nil
}

// redraw draws on the message whose button was pressed.
func (b *Bot) redraw(ctx context.Context, r *request, v view) {
	if outcome, err := b.answer(ctx, true, func() error { return b.edit(ctx, r.chat, r.message, v) }); outcome != done {
		b.log.Info("bot: a message is not redrawn", "user", who(r.chat), "error", err)
	}
}

// transactionView draws a transaction for an administrator.
func transactionView(language string, t store.Transaction) view {
	unknown := textNotKnown.in(language)
	stars := unknown
	if t.Stars > 0 {
		stars = strconv.FormatInt(t.Stars, 10)
	}

	lines := []string{
		"<code>" + t.Hash + "</code>", transactionStates[t.State].in(language),
		textTransaction.in(
			language, tonIn(language, t.AmountNano), stars, html.EscapeString(cmp.Or(t.Username, unknown)), t.Attempt,
		),
	}

	if t.ErrorMessage != "" {
		lines = append(lines, "❗ "+html.EscapeString(t.ErrorMessage)+" ("+string(t.ErrorClass)+")")
	}

	switch at := t.NextRetry(); {
	case at != nil:
		lines = append(lines, textNextRetry.in(language, clockIn(*at)))
	case t.GivenUp():
		lines = append(lines, textNoMoreRetries.in(language))
	}

	if t.NeedsReview {
		why := html.EscapeString(t.ReviewReason) + "."
		if known, ok := reviewTexts[t.ReviewReason]; ok {
			why = known.in(language)
		}
		lines = append(lines, textNeedsReview.in(language, why, t.Hash))
	}

	if t.RefundDueNano > 0 {
		lines = append(lines, textRefundDue.in(language, tonIn(language, t.RefundDueNano)))
	}

	if t.DustNano > 0 {
		lines = append(lines, textRefundKept.in(language, tonIn(language, t.DustNano)))
	}

	if t.FragmentTransactionHash != "" {
		lines = append(lines, textPaidBy.in(language, t.FragmentTransactionHash))
	}

	v := view{text: strings.Join(lines, "\n")}
	if slices.Contains(service.TransactionActions(t), lifecycle.TransactionActionRetry) {
		v.rows = rows(press(labelTryAgain.in(language), "xr", packHash(t.Hash)))
	}
	return v
}

func subjectOfTransaction(t store.Transaction) string { return "transaction/" + t.Hash }
