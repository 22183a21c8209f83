package tasks

import (
	"stagecoach/api/words"
)

// Usage of commands.
var (
	textTaskUsage  = words.Text{"Give the task's number, for example: /task 12. To create one: /task new Title", "Укажите номер задачи, например: /task 12. Новая задача: /task new Название"}
	textClaimUsage = words.Text{"Give the task's number and a comment, for example: /claim 12 I will do it", "Укажите номер задачи и комментарий, например: /claim 12 сделаю я"}
	textMuteUsage  = words.Text{"Give a task's number, or agents for the steps of agents: /mute 12, /mute agents, /unmute 12", "Укажите номер задачи или agents для шагов агентов: /mute 12, /mute agents, /unmute 12"}
	textTitleSize  = words.Text{"A title has %d to %d characters.", "В названии от %d до %d символов."}
)

// Labels of buttons.
var (
	labelOpenTask = words.Text{"📌 Open #%d", "📌 Открыть №%d"}
	labelMute     = words.Text{"🔕 Mute", "🔕 Не сообщать"}
	labelClaimIt  = words.Text{"✋ Claim #%d", "✋ Взять №%d"}
	labelReady    = words.Text{"🟢 Ready to claim", "🟢 Можно взять"}
	labelAgree    = words.Text{"🤝 I agree: %s", "🤝 Согласие: %s"}
	labelRefuse   = words.Text{"🚫 Refuse for good: %s", "🚫 Отказ навсегда: %s"}
)

// The task card, and lists.
var (
	textTasks        = words.Text{"<b>Tasks</b>", "<b>Задачи</b>"}
	textTaskTitle    = words.Text{"📌 #%d <b>%s</b>", "📌 №%d <b>%s</b>"}
	textAssignee     = words.Text{"Assignee: %s", "Исполнитель: %s"}
	textCreator      = words.Text{"Creator: %s", "Автор: %s"}
	textDeadline     = words.Text{"Deadline: %s", "Срок: %s"}
	textReleaseAt    = words.Text{"Free again: %s", "Снова свободна: %s"}
	textBlockers     = words.Text{"Waits for: %s", "Ждёт: %s"}
	textBlocker      = words.Text{"#%d (%s)", "№%d (%s)"}
	textLabels       = words.Text{"Labels: %s", "Метки: %s"}
	textLastComments = words.Text{"<b>Last comments</b>", "<b>Последние комментарии</b>"}
	textReadyTasks   = words.Text{"<b>Ready to claim</b>", "<b>Можно взять</b>"}
	textNoReady      = words.Text{"Nothing can be claimed now.", "Сейчас взять нечего."}
	textMyTasks      = words.Text{"<b>Your tasks</b>", "<b>Ваши задачи</b>"}
	textNoTasks      = words.Text{"You have no tasks: /ready", "У вас нет задач: /ready"}
	textTaskLine     = words.Text{"#%d %s — %s", "№%d %s — %s"}
)

// Invitations.
var (
	textInvitation = words.Text{
		"✉️ <code>%s</code> asks you to join the workspace <code>%s</code>. Until you agree, nothing from it reaches you or your agents. A refusal is final.",
		"✉️ <code>%s</code> приглашает вас в рабочее пространство <code>%s</code>. Пока вы не согласитесь, ничего оттуда не придёт ни вам, ни вашим агентам. Отказ — навсегда.",
	}
	textMoreInvitations = words.Text{"You have more invitations: /task lists them.", "Есть и другие приглашения: их покажет /task."}
	textAgreed          = words.Text{"You are a member now: %s", "Теперь вы участник: %s"}
	textRefused         = words.Text{"You have refused: nobody will ask you to join it again.", "Вы отказались: больше туда вас не пригласят."}
)

// Steps of a task.
var (
	textAskComment  = words.Text{"%s: write a comment, in a few words.", "%s: напишите комментарий, хотя бы пару слов."}
	textStepDone    = words.Text{"✅ Done.", "✅ Готово."}
	textCommented   = words.Text{"✅ Your comment is added.", "✅ Комментарий добавлен."}
	textTaskMuted   = words.Text{"🔕 No more messages about #%[1]d. To get them again: /unmute %[1]d", "🔕 Сообщений о №%[1]d больше не будет. Снова получать: /unmute %[1]d"}
	textTaskHeard   = words.Text{"🔔 You get messages about #%d again.", "🔔 О №%d снова сообщаю."}
	textAgentsMuted = words.Text{"🔕 No more messages about what agents do with tasks. To get them again: /unmute agents", "🔕 О шагах агентов больше не сообщаю. Снова получать: /unmute agents"}
	textAgentsHeard = words.Text{"🔔 You get messages about what agents do again.", "🔔 О шагах агентов снова сообщаю."}
	textTaskMade    = words.Text{"✅ The task is created.", "✅ Задача создана."}
	textStaleTask   = words.Text{"This button is out of date. Open the task again: /task", "Эта кнопка устарела. Откройте задачу ещё раз: /task"}
	textChooseSpace = words.Text{"In which workspace should “%s” be created?", "В каком рабочем пространстве создать «%s»?"}
	textNoSpace     = words.Text{"You are not in any workspace yet. The owner of one can invite you by your number: %d", "Вы пока не состоите ни в одном рабочем пространстве. Владелец пространства может пригласить вас по номеру: %d"}
)

// Notifications about changes of a task.
var (
	textNoticeGiven     = words.Text{"🎁 %s assigned this task to you.", "🎁 %s поручает вам эту задачу."}
	textNoticeClaimed   = words.Text{"✋ %s claimed it.", "✋ %s берёт задачу."}
	textNoticeEscalated = words.Text{"🚨 %s escalated it: blocked.", "🚨 %s эскалирует: заблокирована."}
	textNoticeTaken     = words.Text{"🛟 %s took it over.", "🛟 %s перехватывает задачу."}
	textNoticeExpired   = words.Text{"⏰ Its deadline has passed. It was %s and is stuck now.", "⏰ Срок вышел. Была: %s, теперь застряла."}
	textNoticeLapsed    = words.Text{"⏰ Its assignee sent no heartbeat in time. It was %s and is stuck now.", "⏰ Исполнитель не дал знать о себе вовремя. Была: %s, теперь застряла."}
	textNoticeStatus    = words.Text{"%s: %s → %s", "%s: %s → %s"}
	textNoticeComment   = words.Text{"💬 %s wrote:", "💬 %s пишет:"}
	textNoticeSubmitted = words.Text{"📦 %s has submitted a result:", "📦 %s сдаёт результат:"}
	textNoticeApproved  = words.Text{"👍 %s has approved the result:", "👍 %s одобряет результат:"}
	textNoticeRejected  = words.Text{"👎 %s has rejected the result:", "👎 %s отклоняет результат:"}
	textNoticeEdited    = words.Text{"✏️ %s has edited the task:", "✏️ %s изменяет задачу:"}
	textNoticeReady     = words.Text{"🟢 All tasks that it waited for are done. You can start.", "🟢 Все задачи, которых она ждала, сделаны. Можно начинать."}
	textNoticeHopeless  = words.Text{"⛔ It cannot start: it waits for a cancelled task (%s). Cancel it, and create it again without that one.", "⛔ Начать её нельзя: она ждёт отменённую задачу (%s). Отмените её и создайте заново, без этой зависимости."}
	textNoticeReleased  = words.Text{"↩️ It was stuck for too long and is free for others now.", "↩️ Слишком долго была застрявшей и теперь свободна для других."}
	textNoticeMore      = words.Text{"… and %d more before that", "… и ещё раньше: %d"}
)
