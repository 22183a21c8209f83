package transaction

import (
	"context"

	"stagecoach/internal/store/transaction"
	"stagecoach/internal/toncenter"
)

// DestinationStore records whether paid money was kept by its receiver.
type DestinationStore interface {
	SettleDestination(ctx context.Context, p transaction.Payment, d transaction.Destination) (transaction.PaymentRef, error)
}

// settleDestination determines whether a payment's receiver kept the money, once that is final on the chain. refund is
// the setting.
func settleDestination(
	ctx context.Context, chain *toncenter.Client, record DestinationStore, payment transaction.Payment, refund bool,
) (transaction.PaymentRef, error) {
	if payment.State != transaction.PaymentPaid || payment.KeptAt != nil {
		return payment.Ref(), nil
	}

	caused, err := chain.TransactionsByMessage(ctx, payment.OutHash)
	if err != nil {
		return payment.Ref(), err
	}

	for _, t := range caused {
		if t.In == nil || t.In.Hash != payment.OutHash || t.Finality != toncenter.Finalized {
			continue
		}
		destination := transaction.Destination{Kept: !t.SentBack(), At: t.At, Refund: refund}
		for _, out := range t.Out {
			if out.Bounced {
				destination.ReturnedNano = int64(out.Value)
			}
		}
		return record.SettleDestination(ctx, payment, destination)
	}

	return payment.Ref(), nil
}
