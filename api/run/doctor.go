package run

import (
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/store/operations"
)

// apiChecks are what an API needs.
func (a process) apiChecks() []doctor.Check {
	bot := doctor.Off(operations.Telegram, "this process runs no bot", doctor.AboutBot)
	if a.Config.API.Bot {
		bot = doctor.OfTelegram(a.Telegram, a.Config.Telegram.APIURL, true)
	}
	balance := doctor.OfToncenter(operations.Toncenter, a.Chain(), a.Config.TON.ToncenterKey != "")
	return append(a.GroundChecks(), bot, a.StorageCheck(), doctor.OnceThereIsAWallet(a.Store, balance))
}
