package bot

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// stepComment is the step that only says something. The others are an action's name, or the status to give.
const stepComment = "comment"

// askedComment begins what the conversation remembers while the menu asks for a comment:
// "comment:<task>:<step>:<nonce>".
const askedComment = "comment"

func asksForComment(ask string) bool { return strings.HasPrefix(ask, askedComment+":") }

// stepsOf lists what a person may do with a task now.
func stepsOf(user store.User, t store.Task) (steps []string) {
	for _, action := range service.TaskActions(user, t) {
		if action != lifecycle.TaskActionStatus {
			steps = append(steps, string(action))
			continue
		}
		for _, status := range service.TaskTargets(user, t) {
			steps = append(steps, string(status))
		}
	}
	return append(steps, stepComment)
}

// askComment is the button of a step: the next words are its comment. Pressing does no more, so that it may be done
// twice.
func (b *Bot) askComment(ctx context.Context, r *request, args []string) error {
	if len(args) < 2 {
		return hint{text: textStaleTask}
	}
	return b.askFor(ctx, r, number(args, 0), args[1])
}

func (b *Bot) askFor(ctx context.Context, r *request, id int64, step string) error {
	found, err := b.tasks.Find(ctx, r.user, id)
	if err != nil {
		return err
	}
	if !slices.Contains(stepsOf(r.user, found), step) {
		return b.showTask(ctx, r, id, "⚠️ "+b.whyNot(ctx, r.user, found, step))
	}

	name := taskSteps[step].in(r.user.Language)
	b.show(ctx, r, view{
		text: taskTitle(r.user.Language, found) + "\n\n" + r.say(textAskComment, name),
		rows: rows(press(r.say(labelBack), "t", id)),
		ask:  fmt.Sprintf("%s:%d:%s:%s", askedComment, id, step, newNonce()),
	})

	return nil
}

// whyNot says why a step is not offered, where that can be told before it is tried.
func (b *Bot) whyNot(ctx context.Context, user store.User, t store.Task, step string) string {
	var err error = fault.New(fault.InvalidTransition, "not possible now")
	switch open := t.OpenBlockers(); {
	case step == string(lifecycle.TaskActionClaim) && t.HeldBy(user.ID):
		if t.State == lifecycle.TaskInProgress {
			return textYoursAlready.in(user.Language)
		}
	case step == string(lifecycle.TaskActionClaim) && t.AssigneeID != nil:
		err = fault.New(fault.TaskAlreadyClaimed, "taken").With("holder", *t.AssigneeID)
	case t.State == lifecycle.TaskNew && len(open) > 0:
		err = fault.New(fault.UnresolvedBlockers, "blocked").With("blockers", open)
	}

	return b.taskRefusal(ctx, user, t.ID, err)
}

// takeComment takes what a person wrote for the comment that the menu has asked for. The question's nonce is the
// request's key: the same words that come again, after a crash, do nothing again.
func (b *Bot) takeComment(ctx context.Context, r *request) error {
	if r.words == "" { // a picture, say: the question stands
		return hint{text: textOnlyWords}
	}
	asked := strings.Split(r.conv.Ask, ":")
	if len(asked) != 4 {
		return hint{text: textStaleTask}
	}
	r.message = r.conv.MessageID
	return b.doStep(ctx, r, number(asked, 1), asked[2], r.words, "bot/"+asked[3])
}

// claim is /claim <task> <comment>; without a comment it asks for one.
func (b *Bot) claim(ctx context.Context, r *request) error {
	first, comment := firstWord(r.args)
	id, ok := readNumber(first)
	if !ok {
		return hint{text: textClaimUsage}
	}
	if comment == "" {
		return b.askFor(ctx, r, id, string(lifecycle.TaskActionClaim))
	}
	return b.doStep(ctx, r, id, string(lifecycle.TaskActionClaim), comment, r.key())
}

// doStep does a step with a task and shows what came of it. A refusal is an answer too.
func (b *Bot) doStep(ctx context.Context, r *request, id int64, step, comment, key string) error {
	byRight, err := b.tasks.ByRight(ctx, r.user, id)
	if err != nil {
		return err
	}

	said := textStepDone
	switch step {
	case string(lifecycle.TaskActionClaim):
		_, err = b.tasks.Claim(ctx, r.user, id, comment, key)
	case string(lifecycle.TaskActionEscalate):
		_, err = b.tasks.Escalate(ctx, r.user, id, comment, key)
	case string(lifecycle.TaskActionTakeover):
		_, err = b.tasks.Takeover(ctx, r.user, id, comment, key)
	case stepComment:
		said = textCommented
		_, err = b.tasks.Comment(ctx, r.user, id, comment, key)
	default:
		_, err = b.tasks.Status(ctx, r.user, id, lifecycle.TaskState(step), comment, key)
	}

	if err == nil && byRight {
		r.subject = "task/" + strconv.FormatInt(id, 10)
	}

	refusal := fault.As(err)
	switch {
	case err == nil:
		// it was private, and has been given back
		if err = b.showTask(ctx, r, id, r.say(said)); fault.CodeOf(err) == fault.TaskNotFound {
			b.show(ctx, r, view{text: r.say(said), rows: rows(press(r.say(labelReady), "tr", 0))})
			return nil
		}
		return err
	case refusal == nil || refusal.Retryable || refusal.Code == fault.Internal || refusal.Code == fault.TaskNotFound:
		return err
	}

	b.log.Info("bot: request refused", "user", who(r.from.ID), "update", r.update, "code", refusal.Code)
	return b.showTask(ctx, r, id, "⚠️ "+b.taskRefusal(ctx, r.user, id, err))
}

// taskRefusal says in plain words why a task does not do what somebody wants of it.
func (b *Bot) taskRefusal(ctx context.Context, user store.User, id int64, err error) string {
	refusal := fault.As(err)
	switch refusal.Code {
	case fault.TaskAlreadyClaimed:
		holder, known := wholeNumber(refusal.Details["holder"])
		if t, err := b.tasks.Find(ctx, user, id); err == nil && known {
			return textHeldBy.in(user.Language, b.newNames(user, t.WorkspaceID).of(ctx, &holder))
		}
	case fault.UnresolvedBlockers:
		if open := idsIn(user.Language, refusal.Details["blockers"]); open != "" {
			return textStillBlocked.in(user.Language, open)
		}
	default:
		if known, ok := taskFaults[refusal.Code]; ok {
			return known.in(user.Language)
		}
	}

	return faultText(refusal.Code).in(user.Language)
}

// wholeNumber reads a detail of a fault: one that has travelled as JSON is a float.
func wholeNumber(detail any) (int64, bool) {
	switch n := detail.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	default:
		return 0, false
	}
}

// idsIn lists the ids of a fault's detail.
func idsIn(language string, detail any) string {
	var ids []string
	switch list := detail.(type) {
	case []int64:
		for _, id := range list {
			ids = append(ids, textTaskNumber.in(language, id))
		}
	case []any:
		for _, one := range list {
			if id, ok := wholeNumber(one); ok {
				ids = append(ids, textTaskNumber.in(language, id))
			}
		}
	}

	return strings.Join(ids, ", ")
}
