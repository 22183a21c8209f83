package bot

import (
	"context"
	"html"
	"strings"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// newsShown is how many changes of one task a notice tells in full: a message has 4,096 characters at most.
const newsShown = 8

// taskNews tells of tasks.
func (b *Bot) taskNews(ctx context.Context, viewer store.User, n store.Notice) (drawNews, error) {
	id, _ := readNumber(n.EntityID)
	found, err := b.tasks.Find(ctx, viewer, id)
	return func(ctx context.Context, n store.Notice, events []store.StreamedEvent) view {
		return b.newsView(ctx, viewer, found, events, n.Ready())
	}, err
}

// newsView draws what has happened to a task, the oldest first.
func (b *Bot) newsView(
	ctx context.Context, viewer store.User, t store.Task, events []store.StreamedEvent, ready bool,
) view {
	language := viewer.Language
	names := b.newNames(viewer, t.WorkspaceID)
	lines := []string{taskTitle(language, t)}
	if hidden := len(events) - newsShown; hidden > 0 {
		lines = append(lines, textNewsMore.in(language, hidden))
		events = events[hidden:]
	}

	for _, event := range events {
		lines = append(lines, "", news(ctx, language, names, event))
		if event.ActorID != nil && event.Comment != "" {
			lines = append(lines, "<i>"+html.EscapeString(excerpt(event.Comment, commentLength))+"</i>")
		}
	}

	if ready {
		lines = append(lines, "", textNewsReady.in(language))
	}
	return view{text: strings.Join(lines, "\n"), rows: rows(press(labelOpenTask.in(language, t.ID), "tn", t.ID))}
}

// news says in one line what an event was.
func news(ctx context.Context, language string, names names, e store.StreamedEvent) string {
	actor := "<b>" + names.actor(ctx, e) + "</b>"
	from, to := taskStatuses[lifecycle.TaskState(e.From)], taskStatuses[lifecycle.TaskState(e.To)]
	switch e.Type {
	case "created":
		return textNewsGiven.in(language, actor)
	case "claimed":
		return textNewsClaimed.in(language, actor)
	case "escalated":
		return textNewsEscalated.in(language, actor)
	case "taken_over":
		return textNewsTaken.in(language, actor)
	case "deadline_expired":
		return textNewsExpired.in(language, from.in(language))
	case "commented":
		return textNewsComment.in(language, actor)
	}

	if e.ActorID == nil && e.From == string(lifecycle.TaskStuck) && e.To == string(lifecycle.TaskNew) {
		return textNewsReleased.in(language)
	}
	return textNewsStatus.in(language, actor, from.in(language), to.in(language))
}
