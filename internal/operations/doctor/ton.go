package doctor

import (
	"context"
	"fmt"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

type Chain interface {
	Head(ctx context.Context) (toncenter.Head, error)
	Wallet(ctx context.Context, account ton.Address) (toncenter.Wallet, error)
}

func OfToncenter(chain Chain, key bool) Check {
	access := "without a key"
	if key {
		access = "with a key"
	}
	return Check{operations.Toncenter, func(ctx context.Context) Result {
		head, err := chain.Head(ctx)
		switch {
		case fault.CodeOf(err) == fault.ChainClock:
			return failed(err, "compare this machine's clock with the right time", AboutWallet)
		case err != nil:
			return failed(err, "see whether its address and its API key are right", AboutWallet)
		}
		return Result{State: StateWorks, Account: access, Detail: fmt.Sprintf("block %d", head.Seqno)}
	}}
}

// OfWallet checks the wallet whose key this process holds.
func OfWallet(wallet ton.Address, chain Chain) Check {
	return Check{Wallet, func(ctx context.Context) Result {
		state, err := chain.Wallet(ctx, wallet)
		if err != nil {
			c := failed(err, "see whether toncenter works", AboutWallet)
			c.Account = wallet.Friendly(false)
			return c
		}

		contract := "in use"
		if !state.Active {
			contract = "never paid so far"
		}
		return Result{
			State: StateWorks, Account: wallet.Friendly(false),
			Detail: fmt.Sprintf("%s GRAM, V5R1, %s", state.Balance, contract),
		}
	}}
}

// OnceThereIsAWallet checks, in a process without a key, what is needed only if the record has a wallet.
func OnceThereIsAWallet(record interface {
	ActiveWallet(ctx context.Context) (transaction.Wallet, error)
}, check Check,
) Check {
	return Check{check.System, func(ctx context.Context) Result {
		if _, err := record.ActiveWallet(ctx); fault.CodeOf(err) == fault.WalletNotFound {
			return Off(check.System, "there is no wallet", AboutWallet).Run(ctx)
		}
		return check.Run(ctx)
	}}
}
