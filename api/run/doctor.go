package run

import (
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/store/operations"
)

// apiChecks are what an API needs.
func (p process) apiChecks() []doctor.Check {
	bot := doctor.Off(operations.Telegram, "this process runs no bot", doctor.AboutBot)
	if p.Config.API.Bot {
		bot = doctor.OfTelegram(p.Telegram, p.Config.Telegram.APIURL, true)
	}
	balance := doctor.OfToncenter(operations.Toncenter, p.Chain(), p.Config.TON.ToncenterKey != "")
	return append(p.GroundChecks(), bot, p.StorageCheck(), doctor.OnceThereIsAWallet(p.Store, balance))
}
