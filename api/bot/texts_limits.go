package bot

import "stagecoach/api/bot/chat"

var textManyNewcomers = chat.Text{
	"Many people are asking for access right now. Please write again in an hour.",
	"Сейчас доступ просит очень много людей. Пожалуйста, напишите ещё раз через час.",
}

// quotaTexts say which limit is reached; each takes the limit.
var quotaTexts = map[string]chat.Text{
	"tasks": {
		"You have created %d tasks that are still open, which is the limit. Finish or cancel some first.",
		"Вы создали %d незавершённых задач, это предел. Сначала завершите или отмените часть из них.",
	},
	"deliveries": {
		"You have %d deliveries in progress, which is the limit. Wait for one to end, or cancel one: /jobs",
		"У вас %d доставок в работе, это предел. Дождитесь окончания или отмените одну: /jobs",
	},
	"downloads": {
		"You have %d downloads in progress, which is the limit. Wait for one to end, or cancel one: /downloads",
		"У вас %d загрузок в работе, это предел. Дождитесь окончания или отмените одну: /downloads",
	},
	"workspaces": {
		"You have %d workspaces, which is the limit.",
		"У вас %d рабочих пространств, это предел.",
	},
	"members": {
		"This workspace has %d members, which is the limit.",
		"В этом рабочем пространстве %d участников, это предел.",
	},
	"tokens": {
		"You have %d tokens, which is the limit. Revoke some first.",
		"У вас %d токенов, это предел. Сначала отзовите часть из них.",
	},
	"books": {
		"You have added %d books, which is the limit. Ask an administrator to add more.",
		"Вы добавили %d книг, это предел. Попросите администратора добавить ещё.",
	},
}
