package words

import (
	"stagecoach/internal/store/notice"
)

// Common are the texts that belong to no workload.
var Common = Texts{
	Faults: CommonFaults, Quotas: commonQuotas, Alerts: commonAlerts, AlertsOver: commonAlertsOver,
}

// commonAlerts name the incidents that administrators are notified of, and commonAlertsOver their ends.
var (
	commonAlerts = map[string]Text{
		notice.AlertQueue:        {"A queue is too long, or its oldest entry has waited for too long. See /status, and start more workers.", "Очередь слишком длинная, или старейшая запись в ней ждёт слишком долго. Смотрите /status и добавьте обработчиков."},
		notice.AlertNoWorker:     {"No worker has sent a heartbeat for a while, so nothing is being done. Start one.", "Обработчики давно не подают сигналов, поэтому ничего не выполняется. Запустите хотя бы один."},
		notice.AlertFindings:     {"The record and the workflows differed. The reconciler repairs the difference. See: starter findings", "Записи и процессы разошлись. Сверка исправляет расхождение. Смотрите: starter findings"},
		notice.AlertTemporalAway: {"The workflow service does not answer. Nothing new is started, and what is recorded waits.", "Служба процессов не отвечает. Ничего нового не начинается, записанное ждёт."},
		notice.AlertDatabaseAway: {"The database did not answer for a while. Nothing could be requested or recorded.", "База данных какое-то время не отвечала. Ничего нельзя было ни запросить, ни записать."},
		notice.AlertNoWrites:     {"The database refuses writes: its disk is full, or it has become a standby. Nothing new is accepted.", "База данных не принимает записи: переполнен её диск или она стала резервной. Ничего нового не принимается."},
	}

	commonAlertsOver = map[string]Text{
		notice.AlertQueue:        {"The queues are short again.", "Очереди снова короткие."},
		notice.AlertNoWorker:     {"A worker sends heartbeats again.", "Обработчик снова подаёт сигналы."},
		notice.AlertFindings:     {"The reconciler finds nothing new any more.", "Сверка больше не находит нового."},
		notice.AlertTemporalAway: {"The workflow service answers again.", "Служба процессов снова отвечает."},
		notice.AlertDatabaseAway: {"The database answers again.", "База данных снова отвечает."},
		notice.AlertNoWrites:     {"The database accepts writes again.", "База данных снова принимает записи."},
	}
)

// commonQuotas name the limit that is reached; each takes the number.
var commonQuotas = map[string]Text{
	"webhooks": {
		"You have %d webhooks, which is the limit. Delete some first.",
		"У вас %d вебхуков, это предел. Сначала удалите часть из них.",
	},
	"tokens": {
		"You have %d tokens, which is the limit. Revoke some first.",
		"У вас %d токенов, это предел. Сначала отзовите часть из них.",
	},
}
