package transactions

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
)

// What the commands about Stars are for, and how they are used.
var (
	aboutStars = chat.Text{"how to buy Telegram Stars, and what they cost now", "как купить звёзды Telegram и сколько они сейчас стоят"}
	aboutTx    = chat.Text{"look at a transaction: /tx <hash>; without a hash: those that need you", "посмотреть транзакцию: /tx <хеш>; без хеша — те, что требуют внимания"}
	aboutRetry = chat.Text{"try a failed transaction again: /retry <hash>", "повторить неудавшуюся транзакцию: /retry <хеш>"}

	textRetryUsage = chat.Text{"Name the transaction by its hash, like this: /retry 9f2c…", "Укажите хеш транзакции, например: /retry 9f2c…"}
)

// Labels of buttons.
var (
	labelRetryYes = chat.Text{"✅ Yes, try again", "✅ Да, повторить"}
	labelRetryNo  = chat.Text{"↩️ No", "↩️ Нет"}
)

// How to pay.
var (
	textStars        = chat.Text{"⭐ <b>Telegram Stars for GRAM (ex TON)</b>\nSend GRAM with a comment; the Stars are bought by themselves.", "⭐ <b>Звёзды Telegram за GRAM (бывший TON)</b>\nОтправьте GRAM с комментарием, и звёзды купятся сами."}
	textStarsAddress = chat.Text{"To this address:\n<code>%s</code>", "На этот адрес:\n<code>%s</code>"}
	textStarsComment = chat.Text{
		"With this comment: the username that the Stars are for, and how many if you like. Without a number you get as many as the GRAM buy.\n<code>%s</code>\n<code>%s %d</code>",
		"С таким комментарием: кому звёзды (имя пользователя) и, если хотите, сколько. Без числа — столько, на сколько хватит GRAM.\n<code>%s</code>\n<code>%s %d</code>",
	}
	textPrice        = chat.Text{"Now %d Stars cost %s: send at least %s.", "Сейчас %d звёзд стоят %s: отправьте не меньше %s."}
	textPriceUnknown = chat.Text{"The price cannot be looked up at this moment.", "Цену сейчас узнать не удалось."}
	textStarsBounds  = chat.Text{"At least %d Stars, at most %d. %s of each transfer go to fees.", "Не меньше %d звёзд и не больше %d. %s из каждого перевода уходит на комиссию."}
)

// Notices to the recipient of Stars.
var (
	textStarsBought      = chat.Text{"⭐ %d Stars for @%s have been bought. Thank you!", "⭐ Куплено звёзд: %d для @%s. Спасибо!"}
	textStarsNotBought   = chat.Text{"❌ The transfer of %s with Stars for @%s: nothing was bought.", "❌ Перевод %s на звёзды для @%s: купить не получилось."}
	textMoneyWaits       = chat.Text{"There is no need to pay again: the administrators see it, and the purchase may be tried again.", "Платить ещё раз не нужно: администраторы это видят, покупку могут повторить."}
	textTriedAgain       = chat.Text{"There is no need to pay again: the purchase will be tried again by itself.", "Платить ещё раз не нужно: покупка повторится сама."}
	textGivenUp          = chat.Text{"It was tried again several times. There is no need to pay again: the administrators have been told and look at it.", "Попытки повторялись, но безуспешно. Платить ещё раз не нужно: администраторам сообщено, они разбираются."}
	textMoneyBack        = chat.Text{"The money goes back to where it came from, less the fee.", "Деньги вернутся отправителю за вычетом комиссии."}
	textMoneyAsk         = chat.Text{"It will not be tried again. About the money, please write to an administrator.", "Повторять покупку мы не будем. О деньгах напишите, пожалуйста, администратору."}
	textTransferTooSmall = chat.Text{
		"A transfer with your username in its comment is below the minimum: no Stars are bought for it, and it is not sent back by itself. If it was yours: /stars says how much to send; about the money, please write to an administrator.",
		"Пришёл перевод с вашим именем в комментарии, и он меньше минимального: звёзды на него не покупаются, сам он не возвращается. Если он ваш: в /stars сказано, сколько отправлять, а о деньгах напишите, пожалуйста, администратору.",
	}
	textStarsTrouble = chat.Text{"Something went wrong on our side.", "Что-то пошло не так на нашей стороне."}
)

// failureTexts say in plain words why Stars were not bought, by the message in the record.
var failureTexts = map[string]chat.Text{
	stars.InvalidUsername.Message:       {"Stars can be bought for people only: this name belongs to a channel or a bot.", "Звёзды можно купить только человеку: это имя канала или бота."},
	stars.InvalidUsernameFormat.Message: {"The comment does not begin with a username.", "Комментарий начинается не с имени пользователя."},
	stars.UsernameNotFound.Message:      {"Nobody on Telegram has this username.", "В Telegram нет пользователя с таким именем."},
	stars.TooFewStars.Message:           {"Fewer than 50 Stars are not sold.", "Меньше 50 звёзд не продаётся."},
	stars.TooManyStars.Message:          {"So many Stars are not sold at once.", "Столько звёзд за один раз не продаётся."},
	stars.InvalidComment.Message:        {"The comment could not be understood: a username, then perhaps a number.", "Комментарий не удалось понять: нужны имя пользователя и, если хотите, число."},
	stars.InsufficientAmount.Message:    {"The transfer was too small for that many Stars.", "Перевода не хватило на столько звёзд."},
	stars.CannotGift.Message:            {"This account cannot be given Stars at the moment.", "Этому аккаунту сейчас нельзя подарить звёзды."},
}

// transactionStates name the statuses.
var transactionStates = map[lifecycle.TransactionState]chat.Text{
	lifecycle.TransactionPending:    {"🕓 pending", "🕓 ожидает"},
	lifecycle.TransactionProcessing: {"⏳ processing", "⏳ обрабатывается"},
	lifecycle.TransactionProcessed:  {"✅ processed", "✅ выполнена"},
	lifecycle.TransactionFailed:     {"❌ failed", "❌ не удалась"},
}

// reviewTexts say why a transaction needs review, by the reason in the record.
var reviewTexts = map[string]chat.Text{
	transaction.ReviewNotConfirmed: {"it is paid, and Fragment has not said that the Stars were sent.", "оплата прошла, но Fragment не подтвердил, что звёзды отправлены."},
	transaction.ReviewMismatch:     {"the chain paid something else than what was signed.", "в блокчейне прошёл не тот платёж, который был подписан."},
	transaction.ReviewLate:         {"a payment that had passed for dead was paid after all.", "платёж, который считался несостоявшимся, всё же прошёл."},
	transaction.ReviewBounced:      {"it was found processed, and the money of its purchase has come back since. Did the Stars arrive?", "заказ признан выполненным, но деньги за покупку потом вернулись. Пришли ли звёзды?"},
	transaction.ReviewRefundLimit:  {"the refund is above the limit for one: resolve it as failed to allow it, or write it off.", "возврат больше допустимого: завершите разбор как failed, чтобы разрешить его, или спишите."},
	transaction.ReviewDisputed:     {"a second source does not know the deposit, or tells it otherwise: resolve it as processing when it is right, else as failed.", "второй источник не знает этого перевода или сообщает о нём иное: завершите разбор как processing, если перевод верен, иначе как failed."},
	transaction.ReviewLost:         {"the chain has a payment that the record does not know: it may have been for this one.", "в блокчейне есть платёж, которого нет в записях: возможно, он был за эту покупку."},
}

// Transactions, for administrators.
var (
	textTransactions   = chat.Text{"<b>Transactions that need somebody</b>", "<b>Транзакции, которые требуют внимания</b>"}
	textNoTransactions = chat.Text{"No transaction needs anybody.", "Ни одна транзакция не требует внимания."}
	textTransaction    = chat.Text{"%s came in. Stars: %s, for %s. Tries: %d", "Пришло %s. Звёзд: %s, кому: %s. Попыток: %d"}
	textNeedsReview    = chat.Text{"🔎 Needs review: %s It is resolved over the API or with <code>starter tx resolve %s processed</code> (or <code>failed</code>).", "🔎 Требует разбора: %s Решение принимают через API или командой <code>starter tx resolve %s processed</code> (или <code>failed</code>)."}
	textNextRetry      = chat.Text{"🔁 It is tried again by itself at %s", "🔁 Повторится сама в %s"}
	textNoMoreRetries  = chat.Text{"🙋 It is not tried again by itself: decide about it.", "🙋 Сама больше не повторяется: нужно ваше решение."}
	textRefundDue      = chat.Text{"↩️ Owed to the sender: %s", "↩️ Должны отправителю: %s"}
	textRefundKept     = chat.Text{"Not sent back, for it is not worth its gas: %s", "Не возвращено, комиссия дороже: %s"}
	textPaidBy         = chat.Text{"Paid by <code>%s</code>", "Оплачена транзакцией <code>%s</code>"}
	textNoRetry        = chat.Text{"It cannot be tried again as it stands.", "В этом состоянии её нельзя повторить."}
	textRetryQuestion  = chat.Text{"Try to buy again? Money will be spent if it works.", "Повторить покупку? Если получится, деньги будут потрачены."}
	textRetried        = chat.Text{"It is being tried again.", "Пробуем ещё раз."}
)
