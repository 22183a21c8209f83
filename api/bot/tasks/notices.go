package tasks

import (
	"context"
	"html"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
)

// eventsShown is how many changes of one task a notification shows in full: a message has at most 4,096 characters.
const eventsShown = 8

// findNotice finds the task of a notice.
func (h *handlers) findNotice(ctx context.Context, viewer account.User, n notice.Notice) (chat.DrawNotice, error) {
	id, _ := chat.ReadNumber(n.EntityID)
	found, err := h.tasks.Find(ctx, viewer, id)
	return func(ctx context.Context, n notice.Notice, events []core.StreamedEvent) chat.View {
		return h.noticeView(ctx, viewer, found, events, n)
	}, err
}

// noticeView draws the events of a task, oldest first.
func (h *handlers) noticeView(
	ctx context.Context, viewer account.User, t task.Task, events []core.StreamedEvent, n notice.Notice,
) chat.View {
	language := viewer.Language
	names := h.newNames(viewer, t.WorkspaceID)
	lines := []string{taskTitle(language, t)}

	if hidden := len(events) - eventsShown; hidden > 0 {
		lines = append(lines, textNoticeMore.In(language, hidden))
		events = events[hidden:]
	}

	for _, event := range events {
		lines = append(lines, "", eventLine(ctx, language, names, event))
		if event.ActorID != nil && event.Comment != "" {
			lines = append(lines, "<i>"+html.EscapeString(excerpt(event.Comment, commentLength))+"</i>")
		}
	}
	if n.Has(notice.NoticeReady) {
		lines = append(lines, "", textNoticeReady.In(language))
	}
	if n.Has(notice.NoticeHopeless) {
		lines = append(lines, "", textNoticeHopeless.In(language, numbers(language, t.CancelledBlockers())))
	}

	open := chat.Press(labelOpenTask.In(language, t.ID), "tn", t.ID)
	mute := chat.Press(labelMute.In(language), "tq", t.ID)
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(append(open, mute...))}
}

// eventLine describes an event in one line.
func eventLine(ctx context.Context, language string, names names, e core.StreamedEvent) string {
	actor := "<b>" + names.actor(ctx, e) + "</b>"
	from, to := words.TaskStates[lifecycle.TaskState(e.From)], words.TaskStates[lifecycle.TaskState(e.To)]
	switch e.Type {
	case "created":
		return textNoticeGiven.In(language, actor)
	case "claimed":
		return textNoticeClaimed.In(language, actor)
	case "escalated":
		return textNoticeEscalated.In(language, actor)
	case "taken_over":
		return textNoticeTaken.In(language, actor)
	case lifecycle.TaskExpired:
		return textNoticeExpired.In(language, from.In(language))
	case lifecycle.TaskLapsed:
		return textNoticeLapsed.In(language, from.In(language))
	case "commented":
		return textNoticeComment.In(language, actor)
	case "submitted":
		return textNoticeSubmitted.In(language, actor)
	case "approved":
		return textNoticeApproved.In(language, actor)
	case "rejected":
		return textNoticeRejected.In(language, actor)
	case "edited":
		return textNoticeEdited.In(language, actor)
	}

	if e.ActorID == nil && e.From == string(lifecycle.TaskStuck) && e.To == string(lifecycle.TaskNew) {
		return textNoticeReleased.In(language)
	}
	return textNoticeStatus.In(language, actor, from.In(language), to.In(language))
}
