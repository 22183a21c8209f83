package words

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// Transactions are the texts about transactions and payments.
var Transactions = Texts{Faults: transactionFaults, Alerts: transactionAlerts, AlertsOver: transactionAlertsOver}

// FailureTexts explain why Stars were not bought, by the message in the record.
var FailureTexts = map[string]Text{
	stars.InvalidUsername.Message:       {"Stars can be bought for people only: this name belongs to a channel or a bot.", "Звёзды можно купить только человеку: это имя канала или бота."},
	stars.InvalidUsernameFormat.Message: {"The comment does not begin with a username.", "Комментарий начинается не с имени пользователя."},
	stars.UsernameNotFound.Message:      {"Nobody on Telegram has this username.", "В Telegram нет пользователя с таким именем."},
	stars.TooFewStars.Message:           {"Fewer than 50 Stars are not sold.", "Меньше 50 звёзд не продаётся."},
	stars.TooManyStars.Message:          {"This many Stars are not sold at once.", "Столько звёзд за один раз не продаётся."},
	stars.InvalidComment.Message:        {"The comment could not be read. It must be a username and, if you like, a number.", "Комментарий не удалось прочитать. Нужны имя пользователя и, если хотите, число."},
	stars.InsufficientAmount.Message:    {"The transfer was too small for that many Stars.", "Перевода не хватило на столько звёзд."},
	stars.CannotGift.Message:            {"This account cannot be given Stars at the moment.", "Этому аккаунту сейчас нельзя подарить звёзды."},
}

// TransactionStates name the statuses.
var TransactionStates = map[lifecycle.TransactionState]Text{
	lifecycle.TransactionPending:    {"🕓 pending", "🕓 ожидает"},
	lifecycle.TransactionProcessing: {"⏳ processing", "⏳ обрабатывается"},
	lifecycle.TransactionProcessed:  {"✅ processed", "✅ выполнена"},
	lifecycle.TransactionFailed:     {"❌ failed", "❌ не удалась"},
}

// ReviewTexts explain why a transaction needs review, by the reason in the record.
var ReviewTexts = map[string]Text{
	transaction.ReviewNotConfirmed: {"it is paid, but Fragment has not confirmed that the Stars were sent.", "оплата прошла, но Fragment не подтвердил, что звёзды отправлены."},
	transaction.ReviewMismatch:     {"the payment on the chain differs from the one that was signed.", "платёж в блокчейне отличается от подписанного."},
	transaction.ReviewLate:         {"a payment that was considered failed was made after all.", "платёж, который считался несостоявшимся, всё же прошёл."},
	transaction.ReviewBounced:      {"it was processed, but its payment has bounced since. Did the Stars arrive?", "заказ признан выполненным, но деньги за покупку потом вернулись. Пришли ли звёзды?"},
	transaction.ReviewRefundLimit:  {"the refund is above the limit for one refund: resolve it as failed to allow the refund, or write it off.", "возврат больше предела для одного возврата: завершите разбор как failed, чтобы разрешить его, или спишите."},
	transaction.ReviewDeposit:      {"the deposit, or the deposits of one day, are above the limits for orders without a review: resolve it as processing if the deposit is right, otherwise as failed.", "перевод или переводы за сутки превышают предел для заказов без разбора: завершите разбор как processing, если перевод верен, иначе как failed."},
	transaction.ReviewAsked:        {"an administrator asked for a review: resolve it as processing to continue.", "об этом попросил администратор: завершите разбор как processing, чтобы заказ продолжился."},
	transaction.ReviewLost:         {"the chain has a payment that is not in the record: it may belong to this transaction.", "в блокчейне есть платёж, которого нет в записях: возможно, он относится к этой транзакции."},
}

// transactionFaults explain the faults of transactions and payments in plain words.
var transactionFaults = Faults{
	fault.ReceiptNotFound:     {"No such receipt. Open the link exactly as it was sent.", "Такого чека нет. Откройте ссылку точно такой, какой её прислали."},
	fault.TransactionNotFound: {"No such transaction.", "Такой транзакции нет."},
	fault.WalletNotFound:      {"This wallet is not watched yet.", "За этим кошельком ещё не следят."},
	fault.PaymentNotAllowed:   {"The payment would go to an address that is not allowed.", "Платёж ушёл бы на неразрешённый адрес."},
	fault.NotConfigured:       {"Stars are not sold here.", "Звёзды здесь не продаются."},
	fault.PaymentUndecided:    {"Its payment is on its way or has arrived. Wait for the result on the chain.", "Её платёж в пути или уже дошёл. Дождитесь результата в блокчейне."},
	fault.NoTurn:              {"Another payment comes first.", "Сначала идёт другой платёж."},
	fault.PaymentsPaused:      {"Payments are paused by an administrator.", "Платежи приостановлены администратором."},
	fault.PaymentsHeld:        {"Purchases are stopped for now and continue automatically.", "Покупки пока остановлены и продолжатся автоматически."},
	fault.PaymentLimit:        {"This purchase is above the limit for one purchase.", "Эта покупка больше предела для одной покупки."},
	fault.DailyLimit:          {"The daily limit is reached.", "Дневной лимит исчерпан."},
	fault.InsufficientFunds:   {"There is not enough GRAM in the wallet.", "В кошельке недостаточно GRAM."},
	fault.ChainGap:            {"The wallet's history has a gap and is being read again.", "В истории кошелька есть пропуск, она читается заново."},
	fault.FragmentNoUser:      {"Nobody on Telegram has this username.", "В Telegram нет пользователя с таким именем."},
	fault.FragmentNotAUser:    {"This username belongs to a channel or a bot, which cannot get Stars.", "Это имя канала или бота: им нельзя подарить звёзды."},
	fault.FragmentNoGift:      {"This account cannot get Stars at the moment.", "Этому аккаунту сейчас нельзя подарить звёзды."},
}.With(
	Text{"The TON network is unavailable.", "Сеть TON недоступна."},
	fault.ChainUnauthorized, fault.ChainUnavailable, fault.ChainProtocol, fault.ChainClock,
).With(
	Text{"Stars cannot be bought now.", "Сейчас звёзды купить нельзя."},
	fault.FragmentUnauthorized, fault.FragmentVerify, fault.FragmentRefused, fault.FragmentUnavailable,
	fault.FragmentUnreachable, fault.FragmentProtocol,
)

// transactionAlerts name the incidents that administrators are notified of, and transactionAlertsOver their ends.
var (
	transactionAlerts = map[string]Text{
		notice.AlertFragmentSession:    {"Fragment no longer accepts our session. Purchases of Stars wait until the cookies are renewed and the worker is restarted.", "Fragment больше не принимает наш вход. Покупки звёзд ждут, пока cookies не обновят и не перезапустят worker."},
		notice.AlertPaymentRefused:     {"A payment that Fragment asked for failed our checks and was not made. See /tx", "Платёж, который запросил Fragment, не прошёл наши проверки и не сделан. Смотрите /tx"},
		notice.AlertDailyLimit:         {"The daily limit of payments is reached. Payments that do not fit wait, smaller ones continue.", "Достигнут дневной предел платежей. Платежи, которые не помещаются, ждут, меньшие проходят."},
		notice.AlertWalletEmpty:        {"There is too little GRAM in the wallet. Purchases of Stars wait until it is topped up.", "В кошельке не хватает GRAM. Покупки звёзд ждут, пока его не пополнят."},
		notice.AlertTransactionStuck:   {"A transaction has been in processing for too long. Nothing was reset. See /tx", "Транзакция обрабатывается слишком долго. Ничего не сброшено. Смотрите /tx"},
		notice.AlertTransactionReview:  {"A transaction needs review. It is not bought again until you resolve it. See /tx", "Транзакция требует разбора. До вашего решения покупку не повторят. Смотрите /tx"},
		notice.AlertTransactionGivenUp: {"An order failed and is no longer retried automatically. The payer waits. Look at it with /tx, remove the cause, and retry it.", "Заказ не удалось выполнить, и автоматически он больше не повторяется. Плательщик ждёт. Посмотрите в /tx, устраните причину и повторите."},
		notice.AlertRefund:             {"A refund could not be paid. See /tx", "Не удалось вернуть деньги. Смотрите /tx"},
		notice.AlertChain:              {"The wallet cannot be followed. New transfers are not seen, and payments are not confirmed.", "За кошельком не удаётся следить. Новых переводов не видно, платежи не подтверждаются."},
		notice.AlertChainClock:         {"The time that toncenter reports differs from ours by more than two minutes. Nothing that depends on it is trusted, so purchases wait. Check this machine's clock, then toncenter.", "Время, которое сообщает toncenter, расходится с нашим больше чем на две минуты. Всему, что от него зависит, нельзя верить, поэтому покупки ждут. Проверьте часы этой машины, затем toncenter."},
		notice.AlertChainMessage:       {"A transfer to the wallet has a message that cannot be read. Its money is booked as other, and no order is created for it. The worker's log names the transaction: check it on the chain.", "Сообщение одного перевода на кошелёк не читается. Деньги учтены как прочие, заказа по нему нет. Хеш транзакции есть в журнале worker: посмотрите её в блокчейне."},
		notice.AlertFragmentAway:       {"Fragment has not answered for some minutes. Purchases of Stars are retried and may fail.", "Fragment не отвечает уже несколько минут. Покупки звёзд повторяются и могут не удаться."},
	}

	transactionAlertsOver = map[string]Text{
		notice.AlertFragmentSession:    {"Fragment accepts our session again: purchases of Stars continue.", "Fragment снова принимает наш вход: покупки звёзд продолжаются."},
		notice.AlertPaymentRefused:     {"The payments that Fragment asks for pass our checks again.", "Платежи, которые запрашивает Fragment, снова проходят проверки."},
		notice.AlertDailyLimit:         {"Payments are below the daily limit again.", "Платежи снова в пределах дневного лимита."},
		notice.AlertWalletEmpty:        {"There is enough GRAM in the wallet again.", "В кошельке снова достаточно GRAM."},
		notice.AlertTransactionStuck:   {"No transaction is stuck any more.", "Зависших транзакций больше нет."},
		notice.AlertTransactionReview:  {"No transaction needs review any more.", "Транзакций, требующих разбора, больше нет."},
		notice.AlertTransactionGivenUp: {"No failed order waits for a decision any more.", "Неудавшихся заказов, ждущих решения, больше нет."},
		notice.AlertRefund:             {"Refunds are paid again.", "Возвраты снова проходят."},
		notice.AlertChain:              {"The wallet is followed again.", "За кошельком снова удаётся следить."},
		notice.AlertChainClock:         {"The time that toncenter reports is right again.", "Время, которое сообщает toncenter, снова верно."},
		notice.AlertChainMessage:       {"New transfers can be read again.", "Новые переводы снова читаются."},
		notice.AlertFragmentAway:       {"Fragment answers again.", "Fragment снова отвечает."},
	}
)
