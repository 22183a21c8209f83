package tasks

import (
	"context"
	"html"
	"slices"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

const (
	commentsShown     = 5   // per card
	commentLength     = 250 // runes of each
	descriptionLength = 600
	blockersShown     = 10
	stepsPerRow       = 2
)

// card draws a task as a person may see it: its facts, the last comments, and the steps open to them.
func (h *handlers) card(ctx context.Context, viewer account.User, t task.Task) (chat.View, error) {
	comments, err := h.comments.LastWords(ctx, t.ID, commentsShown)
	if err != nil {
		return chat.View{}, err
	}

	names := h.newNames(viewer, t.WorkspaceID)
	language := viewer.Language
	lines := factLines(ctx, language, names, t)
	if t.Description != "" {
		lines = append(lines, "", html.EscapeString(excerpt(t.Description, descriptionLength)))
	}

	if len(comments) > 0 {
		lines = append(lines, "", textLastComments.In(language))
	}
	for _, event := range slices.Backward(comments) {
		said := html.EscapeString(excerpt(event.Comment, commentLength))
		lines = append(lines, "<b>"+names.actor(ctx, event)+"</b>: "+said)
	}

	rows := append(stepRows(viewer, t),
		append(chat.Press(chat.LabelRefresh.In(language), "t", t.ID), chat.Press(labelReady.In(language), "tr", 0)...))
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(rows...)}, nil
}

// factLines name the people and times of a task.
func factLines(ctx context.Context, language string, names names, t task.Task) []string {
	lines := []string{
		taskTitle(language, t), "", stateLine(language, t),
		textAssignee.In(language, names.of(ctx, t.AssigneeID)),
		textCreator.In(language, names.of(ctx, &t.CreatorID)),
	}

	if t.DeadlineAt != nil {
		lines = append(lines, textDeadline.In(language, words.Moment(language, *t.DeadlineAt)))
	}
	if t.ReleaseAt != nil {
		lines = append(lines, textReleaseAt.In(language, words.Moment(language, *t.ReleaseAt)))
	}
	if len(t.Blockers) > 0 {
		lines = append(lines, textBlockers.In(language, blockers(language, t.Blockers)))
	}
	if len(t.Labels) > 0 {
		labels := chat.ShortHTML(strings.Join(t.Labels, ", "), commentLength)
		lines = append(lines, textLabels.In(language, labels))
	}
	return lines
}

func taskTitle(language string, t task.Task) string {
	return textTaskTitle.In(language, t.ID, chat.HTML(t.Title))
}

// stateLine is a task's state, its priority, and whether it is private.
func stateLine(language string, t task.Task) string {
	parts := []string{words.TaskStates[t.State].In(language), words.TaskPriorities[t.Priority].In(language)}
	if t.Visibility == task.Private {
		parts = append(parts, words.TaskPrivate.In(language))
	}
	return strings.Join(parts, " · ")
}

// blockers lists what a task waits for, unfinished tasks first.
func blockers(language string, all []task.Blocker) string {
	var open, done []string
	for _, blocker := range all {
		shown := textBlocker.In(language, blocker.ID, words.TaskStates[blocker.Status].In(language))
		if blocker.Status == lifecycle.TaskDone {
			done = append(done, shown)
		} else {
			open = append(open, shown)
		}
	}

	shown := append(open, done...)
	if len(shown) > blockersShown {
		shown = append(shown[:blockersShown], "…")
	}
	return strings.Join(shown, ", ")
}

// stepRows draws a button for each step open to the person.
func stepRows(viewer account.User, t task.Task) (drawn []chat.Row) {
	var all chat.Row
	for _, step := range stepsOf(viewer, t) {
		all = append(all, chat.Press(words.TaskSteps[step].In(viewer.Language), "ta", t.ID, step)...)
	}
	for row := range slices.Chunk(all, stepsPerRow) {
		drawn = append(drawn, row)
	}
	return drawn
}

// names resolves the names of people in a workspace for one viewer, as HTML, as far as the viewer may know them. It
// reads each name once.
type names struct {
	store     Store
	viewer    account.User
	workspace int64
	known     map[int64]string
}

func (h *handlers) newNames(viewer account.User, workspace int64) names {
	known := map[int64]string{viewer.ID: words.You.In(viewer.Language)}
	return names{store: h.store, viewer: viewer, workspace: workspace, known: known}
}

// of returns the name of a user; their number if the name is unknown or cannot be read.
func (n names) of(ctx context.Context, user *int64) string {
	if user == nil {
		return words.Nobody.In(n.viewer.Language)
	}
	if known, ok := n.known[*user]; ok {
		return known
	}

	found, owner, err := n.store.NameIn(ctx, n.viewer, n.workspace, *user)
	name := words.Person.In(n.viewer.Language, *user)
	if err == nil && found != "" {
		name = chat.HTML(words.NameOf(found, owner))
	}

	n.known[*user] = name
	return name
}

// actor names the author of an event.
func (n names) actor(ctx context.Context, event core.StreamedEvent) string {
	if event.ActorID == nil {
		return words.TheService.In(n.viewer.Language)
	}
	return n.of(ctx, event.ActorID)
}

// excerpt truncates a text of several lines.
func excerpt(words string, most int) string {
	runes := []rune(strings.TrimSpace(strings.ToValidUTF8(words, "�")))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}
