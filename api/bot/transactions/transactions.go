// Package transactions is the bot's part for transactions: people read how to buy Stars and are notified of the outcome
// of their transfers; administrators inspect transactions and retry them.
package transactions

import (
	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/transaction"
)

type handlers struct {
	*chat.Sender
	transactions *transactions.Service
}

// New returns the commands, buttons and notifications of transactions.
func New(sender *chat.Sender, transactions *transactions.Service) chat.Part {
	h := &handlers{sender, transactions}

	return chat.Part{
		Commands: []chat.Command{
			{Name: "stars", About: words.Text{"how to buy Telegram Stars, and what they cost now", "как купить звёзды Telegram и сколько они сейчас стоят"}, Run: h.showStars},
			{Name: "tx", About: words.Text{"show a transaction: /tx <hash>; without a hash: those that need attention", "посмотреть транзакцию: /tx <хеш>; без хеша — те, что требуют внимания"}, Admin: true, Run: h.showTransaction},
			{Name: "retry", About: words.Text{"retry a failed transaction: /retry <hash>", "повторить неудавшуюся транзакцию: /retry <хеш>"}, Admin: true, Run: h.askRetry},
		},
		Buttons: []chat.Button{
			{Prefix: "xt", Command: "tx", Run: h.showTransaction},     // xt:<transaction>
			{Prefix: "xr", Command: "retry", Run: h.askRetry},         // xr:<transaction>
			{Prefix: "xy", Command: "retry", Run: h.retryTransaction}, // xy:<transaction>:<attempt>
			{Prefix: "xv", Command: "tx", Run: h.reviewTransaction},   // xv:<transaction>:<attempt>
		},
		Notices: map[string]chat.FindNotice{
			lifecycle.WorkloadTransaction: h.findNotice, transaction.SmallTransferNotices: smallTransferNotice,
		},
		Status: map[string]chat.Status{lifecycle.WorkloadTransaction: {Heading: textHeading}},
		Texts:  words.Transactions,
	}
}
