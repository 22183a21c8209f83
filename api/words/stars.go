package words

import "stagecoach/internal/money"

// What a customer reads after a failed purchase.
var (
	// TriedAgain: the system retries.
	TriedAgain = Text{"Do not pay again. The purchase will be retried automatically.", "Платить ещё раз не нужно: покупка повторится автоматически."}
	// MoneyWaits: only an administrator can retry.
	MoneyWaits = Text{"Do not pay again. The administrators see it and may retry the purchase.", "Платить ещё раз не нужно: администраторы это видят и могут повторить покупку."}
	// MoneyBack: a refund is due.
	MoneyBack = Text{"The money will be sent back to the sender, less the fee.", "Деньги вернутся отправителю за вычетом комиссии."}
	// MoneyAsk: nothing happens automatically.
	MoneyAsk = Text{"It will not be retried, and the money is not sent back automatically. Please write to an administrator, with the receipt.", "Покупка не повторится, и деньги автоматически не вернутся. Напишите, пожалуйста, администратору и приложите чек."}
	// StarsTrouble: a failure that is not about the transfer.
	StarsTrouble = Text{"There was an internal error.", "Произошла внутренняя ошибка."}
)

// WhyNotBought explains why Stars were not bought, by the message in the record.
func WhyNotBought(language, message string) string {
	if known, ok := FailureTexts[message]; ok {
		return known.In(language)
	}
	return StarsTrouble.In(language)
}

// Gram formats an amount of nanoTON.
func Gram(language string, nano int64) string {
	return Decimal(language, money.Nano(nano).String()) + " GRAM"
}

// What a customer or an administrator reads about Stars.
var (
	PriceUnknown = Text{"The price is not available at the moment.", "Цену сейчас узнать не удалось."}
	StarsBounds  = Text{"At least %s Stars, at most %s. %s of each transfer goes to fees.", "Не меньше %s звёзд и не больше %s. %s из каждого перевода уходит на комиссию."}
	ReviewAsked  = Text{"Nothing is signed for it until the review is resolved.", "Пока разбор не завершён, для неё ничего не подписывается."}
)
