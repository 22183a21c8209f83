package transactions

import (
	"stagecoach/api/words"
)

var textRetryUsage = words.Text{"Give the transaction's hash, for example: /retry 9f2c…", "Укажите хеш транзакции, например: /retry 9f2c…"}

// Labels of buttons.
var (
	labelRetryYes = words.Text{"✅ Yes, retry", "✅ Да, повторить"}
	labelReview   = words.Text{"🔎 Ask for a review", "🔎 Отправить на разбор"}
	labelRetryNo  = words.Text{"↩️ No", "↩️ Нет"}
)

// How to pay.
var (
	textHeading      = words.Text{"<b>Stars</b>", "<b>Звёзды</b>"}
	textStars        = words.Text{"⭐ <b>Telegram Stars for GRAM (ex TON)</b>\nSend GRAM with a comment, and the Stars are bought automatically.", "⭐ <b>Звёзды Telegram за GRAM (бывший TON)</b>\nОтправьте GRAM с комментарием, и звёзды купятся автоматически."}
	textStarsAddress = words.Text{"To this address:\n<code>%s</code>", "На этот адрес:\n<code>%s</code>"}
	textStarsComment = words.Text{
		"With this comment: the username that the Stars are for and, if you like, how many. Without a number you get as many as the GRAM buys.\n<code>%s</code>\n<code>%s %d</code>",
		"С таким комментарием: кому звёзды (имя пользователя) и, если хотите, сколько. Без числа — столько, на сколько хватит GRAM.\n<code>%s</code>\n<code>%s %d</code>",
	}
	textPrice = words.Text{"Now %s Stars cost %s: send at least %s.", "Сейчас %s звёзд стоят %s: отправьте не меньше %s."}
)

// Notifications to recipients of Stars.
var (
	textStarsBought      = words.Text{"⭐ %s Stars for @%s have been bought. Thank you!", "⭐ Куплено звёзд: %s для @%s. Спасибо!"}
	textStarsNotBought   = words.Text{"❌ The transfer of %s for Stars for @%s bought nothing.", "❌ Перевод %s на звёзды для @%s: купить не получилось."}
	textGivenUp          = words.Text{"Several attempts failed. Do not pay again. The administrators have been notified and are looking at it.", "Несколько попыток не удались. Платить ещё раз не нужно: администраторы уведомлены и разбираются."}
	textTransferTooSmall = words.Text{
		"A transfer with your username in its comment is below the minimum: no Stars are bought for it, and it is not sent back automatically. If it was yours: /stars says how much to send. Please write to an administrator about the money.",
		"Пришёл перевод с вашим именем в комментарии, но он меньше минимального: звёзды на него не покупаются, автоматически он не возвращается. Если он ваш: в /stars сказано, сколько отправлять. О деньгах напишите, пожалуйста, администратору.",
	}
	textReceipt = words.Text{"<a href=\"%s\">Receipt</a>", "<a href=\"%s\">Чек</a>"}
)

// Transactions, for administrators.
var (
	textTransactions   = words.Text{"<b>Transactions that need attention</b>", "<b>Транзакции, которые требуют внимания</b>"}
	textNoTransactions = words.Text{"No transaction needs attention.", "Ни одна транзакция не требует внимания."}
	textTransaction    = words.Text{"Received %s. Stars: %s, for %s. Attempts: %d", "Пришло %s. Звёзд: %s, кому: %s. Попыток: %d"}
	textNeedsReview    = words.Text{"🔎 Needs review: %s Resolve it through the API or with <code>starter tx resolve %s processed</code> (or <code>failed</code>).", "🔎 Требует разбора: %s Примите решение через API или командой <code>starter tx resolve %s processed</code> (или <code>failed</code>)."}
	textNextRetry      = words.Text{"🔁 It is retried automatically at %s", "🔁 Повторится автоматически в %s"}
	textNoMoreRetries  = words.Text{"🙋 It is no longer retried automatically. It needs your decision.", "🙋 Автоматически больше не повторяется. Нужно ваше решение."}
	textRefundDue      = words.Text{"↩️ Owed to the sender: %s", "↩️ Должны отправителю: %s"}
	textRefundKept     = words.Text{"Not sent back, because the fee is higher: %s", "Не возвращено, комиссия дороже: %s"}
	textPaidBy         = words.Text{"Paid by <code>%s</code>", "Оплачена транзакцией <code>%s</code>"}
	textNoRetry        = words.Text{"It cannot be retried in this state.", "В этом состоянии её нельзя повторить."}
	textRetryQuestion  = words.Text{"Retry the purchase? If it succeeds, money is spent.", "Повторить покупку? Если получится, деньги будут потрачены."}
	textRetried        = words.Text{"It is being retried.", "Пробуем ещё раз."}
)
