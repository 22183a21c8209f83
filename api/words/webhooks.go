package words

import "stagecoach/internal/fault"

// Webhooks has the texts for faults of webhooks, and for the reasons why one is paused.
var Webhooks = Texts{Faults: Faults{
	fault.WebhookNotFound:    {"No such webhook.", "Такого вебхука нет."},
	fault.WebhookForbidden:   {"Its address cannot be used: it is not on the Internet.", "Его адрес использовать нельзя: он не в интернете."},
	fault.WebhookUnreachable: {"The receiver cannot be reached.", "Получатель недоступен."},
	fault.WebhookTimeout:     {"The receiver does not answer in time.", "Получатель не отвечает вовремя."},
	fault.WebhookRefused:     {"The receiver does not accept events.", "Получатель не принимает отправленное."},
	fault.WebhookGone:        {"The receiver wants no more events.", "Получатель отказался от событий."},
	fault.PausedByOwner:      {"You have paused it.", "Вы его приостановили."},
	fault.ReceiverGone:       {"The receiver has answered that it wants no more events.", "Получатель ответил, что события ему больше не нужны."},
	fault.ReceiverFailed:     {"The receiver has accepted no events for three days.", "Получатель три дня не принимал события."},
	fault.OwnerNotActive:     {"Its owner had no access.", "У владельца не было доступа."},
	fault.TokenEnded:         {"The token that created it is no longer valid.", "Токен, которым он создан, больше не действует."},
}}
