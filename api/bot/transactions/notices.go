package transactions

import (
	"cmp"
	"context"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// findNotice finds the transaction of a notification to the recipient of the Stars.
func (h *handlers) findNotice(ctx context.Context, viewer account.User, n notice.Notice) (chat.DrawNotice, error) {
	t, err := h.transactions.Find(ctx, n.EntityID)
	if err == nil && (t.UserID == nil || *t.UserID != viewer.ID) {
		err = fault.New(fault.TransactionNotFound, "the viewer is not the recipient")
	}

	return func(_ context.Context, _ notice.Notice, events []core.StreamedEvent) chat.View {
		text := noticeText(viewer.Language, t, events[len(events)-1]) // earlier events are outdated
		if url := h.transactions.ReceiptURL(t); url != "" {
			text += "\n" + textReceipt.In(viewer.Language, url)
		}
		return chat.View{Text: text}
	}, err
}

// smallTransferNotice notifies of a transfer below the minimum, which is not an order.
func smallTransferNotice(_ context.Context, viewer account.User, _ notice.Notice) (chat.DrawNotice, error) {
	return func(context.Context, notice.Notice, []core.StreamedEvent) chat.View {
		return chat.View{Text: textTransferTooSmall.In(viewer.Language)}
	}, nil
}

func noticeText(language string, t transaction.Transaction, event core.StreamedEvent) string {
	if lifecycle.TransactionState(event.To) == lifecycle.TransactionProcessed {
		return textStarsBought.In(language, words.Number(t.Stars), t.Username)
	}

	message := cmp.Or(t.ErrorMessage, event.Comment)
	goesOn := t.RetryAt != nil || t.State == lifecycle.TransactionProcessing
	next := words.MoneyWaits
	switch {
	case event.Type == lifecycle.TransactionGivenUp:
		next = textGivenUp
	case event.Type == lifecycle.TransactionFailure && goesOn:
		next = words.TriedAgain
	case t.RefundDueNano > 0:
		next = words.MoneyBack
	case event.Type == lifecycle.TransactionResolved || t.ErrorClass == lifecycle.NonRetryable:
		next = words.MoneyAsk
	}

	failed := textStarsNotBought.In(language, words.Gram(language, t.AmountNano), t.Username)
	return strings.Join([]string{failed, words.WhyNotBought(language, message), next.In(language)}, "\n")
}
