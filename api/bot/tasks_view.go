package bot

import (
	"context"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

const (
	wordsShown        = 5   // comments on a card
	commentLength     = 250 // runes of each
	descriptionLength = 600
	blockersShown     = 10
	stepsPerRow       = 2
)

// card draws a task as a person may see it: what it is, what was said last, and what they may do with it.
func (b *Bot) card(ctx context.Context, viewer store.User, t store.Task) (view, error) {
	said, err := b.store.LastWords(ctx, t.ID, wordsShown)
	if err != nil {
		return view{}, err
	}

	names := b.newNames(viewer, t.WorkspaceID)
	language := viewer.Language
	lines := []string{
		taskTitle(language, t), "", standing(language, t), textAssignee.in(language, names.of(ctx, t.AssigneeID)),
	}

	lines = append(lines, textCreator.in(language, names.of(ctx, &t.CreatorID)))
	if t.DeadlineAt != nil {
		lines = append(lines, textDeadline.in(language, momentIn(language, *t.DeadlineAt)))
	}

	if t.ReleaseAt != nil {
		lines = append(lines, textReleaseAt.in(language, momentIn(language, *t.ReleaseAt)))
	}

	if len(t.Blockers) > 0 {
		lines = append(lines, textBlockers.in(language, blockers(language, t.Blockers)))
	}

	if len(t.Labels) > 0 {
		lines = append(
			lines, textLabels.in(language, html.EscapeString(shorten(clean(strings.Join(t.Labels, ", ")), commentLength))),
		)
	}

	if t.Description != "" {
		lines = append(lines, "", html.EscapeString(excerpt(t.Description, descriptionLength)))
	}

	if len(said) > 0 {
		lines = append(lines, "", textLastWords.in(language))
	}

	for _, event := range slices.Backward(said) {
		lines = append(lines, "<b>"+names.actor(ctx, event)+"</b>: "+html.EscapeString(excerpt(event.Comment, commentLength)))
	}
	return view{text: strings.Join(lines, "\n"), rows: rows(append(stepRows(viewer, t),
		append(press(labelRefresh.in(language), "t", t.ID), press(labelReady.in(language), "tr", 0)...))...)}, nil
}

func taskTitle(language string, t store.Task) string {
	return textTaskTitle.in(language, t.ID, html.EscapeString(clean(t.Title)))
}

// standing is a task's status, and how urgent and how open it is.
func standing(language string, t store.Task) string {
	parts := []string{taskStatuses[t.State].in(language), taskPriorities[t.Priority].in(language)}
	if t.Visibility == store.TaskPrivate {
		parts = append(parts, textPrivateTask.in(language))
	}
	return strings.Join(parts, " · ")
}

// blockers lists what a task waits for; those that are not done come first.
func blockers(language string, all []store.Blocker) string {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b store.Blocker) int {
		rank := map[bool]int{true: 1}
		return rank[a.Status == lifecycle.TaskDone] - rank[b.Status == lifecycle.TaskDone]
	})
	var shown []string
	for _, blocker := range sorted[:min(blockersShown, len(sorted))] {
		shown = append(shown, textBlocker.in(language, blocker.ID, taskStatuses[blocker.Status].in(language)))
	}

	if len(sorted) > blockersShown {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// stepRows draws a button for each thing that the person may do.
func stepRows(viewer store.User, t store.Task) (drawn [][]telego.InlineKeyboardButton) {
	var all []telego.InlineKeyboardButton
	for _, step := range stepsOf(viewer, t) {
		all = append(all, press(taskSteps[step].in(viewer.Language), "ta", t.ID, step)...)
	}
	for row := range slices.Chunk(all, stepsPerRow) {
		drawn = append(drawn, row)
	}
	return drawn
}

// names gives people's names, as far as they may be known in a workspace, to one viewer as HTML, looking up each once.
type names struct {
	store     *store.Store
	viewer    store.User
	workspace int64
	known     map[int64]string
}

func (b *Bot) newNames(viewer store.User, workspace int64) names {
	return names{
		store: b.store, viewer: viewer, workspace: workspace, known: map[int64]string{viewer.ID: textYou.in(viewer.Language)},
	}
}

// of names a user who has something to do with a task: nobody's absence is worth an error, a number will do.
func (n names) of(ctx context.Context, user *int64) string {
	if user == nil {
		return textNobody.in(n.viewer.Language)
	}
	if known, ok := n.known[*user]; ok {
		return known
	}

	found, err := n.store.NameIn(ctx, n.viewer, n.workspace, *user)
	name := "#" + strconv.FormatInt(*user, 10)
	if err == nil && found != "" {
		name = html.EscapeString(clean(found))
	}

	n.known[*user] = name
	return name
}

// actor names who made an event.
func (n names) actor(ctx context.Context, event store.StreamedEvent) string {
	if event.ActorID == nil {
		return textSystem.in(n.viewer.Language)
	}
	return n.of(ctx, event.ActorID)
}

// momentIn writes a moment for people, in UTC: Telegram does not tell where they are.
func momentIn(language string, at time.Time) string {
	return dateIn(language, at) + at.UTC().Format(" 15:04 UTC")
}

// excerpt cuts the end off a text of several lines.
func excerpt(words string, most int) string {
	runes := []rune(strings.TrimSpace(strings.ToValidUTF8(words, "�")))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}
