package transactions

import (
	"cmp"
	"html"
	"strconv"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/money"
	"stagecoach/internal/store/transaction"
)

// transactionView draws a transaction for an administrator.
func transactionView(language string, t transaction.Transaction) chat.View {
	unknown := chat.TextNotKnown.In(language)
	stars := unknown
	if t.Stars > 0 {
		stars = strconv.FormatInt(t.Stars, 10)
	}

	username := html.EscapeString(cmp.Or(t.Username, unknown))
	lines := []string{
		"<code>" + t.Hash + "</code>", transactionStates[t.State].In(language),
		textTransaction.In(language, gram(language, t.AmountNano), stars, username, t.Attempt),
	}
	lines = append(lines, attentionLines(language, t)...)
	lines = append(lines, moneyLines(language, t)...)

	v := chat.View{Text: strings.Join(lines, "\n")}
	if mayRetry(t) {
		v.Rows = chat.Rows(chat.Press(chat.LabelTryAgain.In(language), "xr", packHash(t.Hash)))
	}
	return v
}

// attentionLines tell why a transaction failed, whether it is tried again, and why it needs review.
func attentionLines(language string, t transaction.Transaction) (lines []string) {
	if t.ErrorMessage != "" {
		lines = append(lines, "❗ "+html.EscapeString(t.ErrorMessage)+" ("+string(t.ErrorClass)+")")
	}

	switch at := t.NextRetry(); {
	case at != nil:
		lines = append(lines, textNextRetry.In(language, chat.Clock(*at)))
	case t.GivenUp():
		lines = append(lines, textNoMoreRetries.In(language))
	}

	if t.NeedsReview {
		why := html.EscapeString(t.ReviewReason) + "."
		if known, ok := reviewTexts[t.ReviewReason]; ok {
			why = known.In(language)
		}
		lines = append(lines, textNeedsReview.In(language, why, t.Hash))
	}
	return lines
}

// moneyLines tell what is owed, what is kept, and which payment was made.
func moneyLines(language string, t transaction.Transaction) (lines []string) {
	if t.RefundDueNano > 0 {
		lines = append(lines, textRefundDue.In(language, gram(language, t.RefundDueNano)))
	}
	if t.DustNano > 0 {
		lines = append(lines, textRefundKept.In(language, gram(language, t.DustNano)))
	}
	if t.FragmentTransactionHash != "" {
		lines = append(lines, textPaidBy.In(language, t.FragmentTransactionHash))
	}
	return lines
}

// gram writes an amount for people.
func gram(language string, nano int64) string {
	return chat.Decimal(language, money.Nano(nano).String()) + " GRAM"
}
