package tasks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// askedComment prefixes the conversation's entry while the menu asks for a comment: "comment:<task>:<step>:<nonce>".
const askedComment = "comment:"

func asksForComment(r *chat.Request) bool { return strings.HasPrefix(r.Conv.Ask, askedComment) }

// stepsOf lists the steps open to a person now.
func stepsOf(user account.User, t task.Task) (steps []string) {
	for _, action := range tasks.Actions(user, t) {
		switch action {
		case lifecycle.TaskActionStatus:
			for _, state := range tasks.Targets(user, t) {
				steps = append(steps, string(state))
			}
		case lifecycle.TaskActionEdit: // has fields: only on the pages and the API
		default:
			steps = append(steps, string(action))
		}
	}
	return append(steps, words.StepComment)
}

// askComment is the button of a step: the next message is its comment. The press itself changes nothing, so it may be
// repeated.
func (h *handlers) askComment(ctx context.Context, r *chat.Request, args chat.Args) error {
	if len(args) < 2 {
		return chat.Hint{Text: textStaleTask}
	}
	return h.askFor(ctx, r, args.Number(0), args[1])
}

func (h *handlers) askFor(ctx context.Context, r *chat.Request, id int64, step string) error {
	found, err := h.tasks.Find(ctx, r.User, id)
	if err != nil {
		return err
	}
	if !slices.Contains(stepsOf(r.User, found), step) {
		return h.showTask(ctx, r, id, "⚠️ "+h.whyNotOffered(ctx, r.User, found, step))
	}

	text := taskTitle(r.User.Language, found) + "\n\n"
	name := words.TaskSteps[step].In(r.User.Language)
	if judges(step) { // what they see now is what they judge
		result, err := h.resultOf(ctx, r, found)
		if err != nil {
			return err
		}
		text += result + "\n\n"
		step = fmt.Sprintf("%s.%d", step, *found.Submission)
	}

	nonce := chat.Nonce()
	var proposed chat.Row
	if step == string(lifecycle.TaskDone) {
		proposed = chat.Press(r.Say(words.TaskDoneComment), "tp", id, step, nonce)
	}
	h.Show(ctx, r, chat.View{
		Text: text + r.Say(textAskComment, name),
		Rows: chat.Rows(proposed, chat.Press(r.Say(chat.LabelBack), "t", id)),
		Ask:  fmt.Sprintf("%s%d:%s:%s", askedComment, id, step, nonce),
	})

	return nil
}

// takeComment takes what a person wrote as the comment that the menu asked for. The question's nonce is the idempotency
// key: the same message, repeated after a crash, has no second effect.
func (h *handlers) takeComment(ctx context.Context, r *chat.Request, _ chat.Args) error {
	if r.Words == "" { // for example a picture: the question stays open
		return chat.Hint{Text: chat.TextOnlyWords}
	}

	asked := chat.Args(strings.Split(r.Conv.Ask, ":"))
	if len(asked) != 4 {
		return chat.Hint{Text: textStaleTask}
	}

	r.Message = r.Conv.MessageID
	return h.doStep(ctx, r, asked.Number(1), asked[2], r.Words, "bot/"+asked[3])
}

// propose takes a step with the comment that its question proposed.
func (h *handlers) propose(ctx context.Context, r *chat.Request, args chat.Args) error {
	if len(args) != 3 {
		return chat.Hint{Text: textStaleTask}
	}
	return h.doStep(ctx, r, args.Number(0), args[1], r.Say(words.TaskDoneComment), "bot/"+args[2])
}

// claim is /claim <task> <comment>; without a comment it asks for one.
func (h *handlers) claim(ctx context.Context, r *chat.Request, _ chat.Args) error {
	first, comment := chat.FirstWord(r.Args)
	id, ok := chat.ReadNumber(first)
	if !ok {
		return chat.Hint{Text: textClaimUsage}
	}
	if comment == "" {
		return h.askFor(ctx, r, id, string(lifecycle.TaskActionClaim))
	}
	return h.doStep(ctx, r, id, string(lifecycle.TaskActionClaim), comment, r.Key())
}

// doStep takes a step of a task and shows the result.
func (h *handlers) doStep(ctx context.Context, r *chat.Request, id int64, step, comment, key string) error {
	byRight, err := h.tasks.ByRight(ctx, r.User, id)
	if err != nil {
		return err
	}
	if err := h.perform(ctx, r.User, id, step, comment, key); err != nil {
		return h.showRefusal(ctx, r, id, err)
	}

	if byRight {
		r.Subject = "task/" + strconv.FormatInt(id, 10)
	}

	said := textStepDone
	if step == words.StepComment {
		said = textCommented
	}

	err = h.showTask(ctx, r, id, r.Say(said))
	if fault.CodeOf(err) == fault.TaskNotFound { // a private task that the person has released
		h.Show(ctx, r, chat.View{Text: r.Say(said), Rows: chat.Rows(chat.Press(r.Say(labelReady), "tr", 0))})
		return nil
	}

	return err
}

func (h *handlers) perform(ctx context.Context, user account.User, id int64, step, comment, key string) (err error) {
	if action, submission, judged := strings.Cut(step, "."); judged {
		return h.judge(ctx, user, id, lifecycle.TaskAction(action), submission, tasks.Said{Comment: comment, Key: key})
	}

	switch step {
	case string(lifecycle.TaskActionClaim):
		_, err = h.tasks.Claim(ctx, user, id, comment, key)
	case string(lifecycle.TaskActionEscalate):
		_, err = h.tasks.Escalate(ctx, user, id, comment, key)
	case string(lifecycle.TaskActionTakeover):
		_, err = h.tasks.Takeover(ctx, user, id, comment, key)
	case string(lifecycle.TaskActionSubmit):
		err = h.submit(ctx, user, id, comment, key)
	case words.StepComment:
		_, err = h.tasks.Comment(ctx, user, id, comment, key)
	default:
		_, err = h.tasks.Status(ctx, user, id, lifecycle.TaskState(step), comment, key)
	}

	return err
}

// showRefusal shows the task with the reason why a step was refused, which is an answer too. An error that is not about
// the task is returned.
func (h *handlers) showRefusal(ctx context.Context, r *chat.Request, id int64, err error) error {
	refusal := fault.As(err)
	if refusal == nil || refusal.Retryable || refusal.Code == fault.Internal || refusal.Code == fault.TaskNotFound {
		return err
	}

	found, err := h.tasks.Find(ctx, r.User, id)
	if err != nil {
		return err
	}

	h.Log.Info("bot: request refused", "user", h.Pseudonym(r.From.ID), "update", r.Update, "code", refusal.Code)
	return h.showTask(ctx, r, id, "⚠️ "+h.whyRefused(ctx, r.User, found, refusal.Code))
}

// whyNotOffered says why a step is not open to a person.
func (h *handlers) whyNotOffered(ctx context.Context, viewer account.User, t task.Task, step string) string {
	code := fault.InvalidTransition
	for _, option := range tasks.Options(viewer, t) {
		asked := step == string(option.Action) || option.Action == lifecycle.TaskActionStatus && step == string(option.To)
		switch {
		case asked && option.ChangesNothing:
			return words.TaskYours.In(viewer.Language)
		case asked && option.Refusal != nil:
			code = option.Refusal.Code
		}
	}

	return h.whyRefused(ctx, viewer, t, code)
}

// whyRefused explains a refusal, given the task's current state, in plain words.
func (h *handlers) whyRefused(ctx context.Context, viewer account.User, t task.Task, code fault.Code) string {
	open, cancelled := t.OpenBlockers(), t.CancelledBlockers()
	switch {
	case code == fault.TaskAlreadyClaimed && t.AssigneeID != nil:
		return words.TaskHeldBy.In(viewer.Language, h.newNames(viewer, t.WorkspaceID).of(ctx, t.AssigneeID))
	case code == fault.UnresolvedBlockers && len(cancelled) > 0:
		return words.TaskNeverStarts.In(viewer.Language, numbers(viewer.Language, cancelled))
	case code == fault.UnresolvedBlockers && len(open) > 0:
		return words.TaskStillBlocked.In(viewer.Language, numbers(viewer.Language, open))
	}

	if known, ok := words.AboutTask[code]; ok {
		return known.In(viewer.Language)
	}
	return words.Tasks.Faults.Text(code).In(viewer.Language)
}

// numbers lists the numbers of tasks.
func numbers(language string, ids []int64) string {
	var shown []string
	for _, id := range ids {
		shown = append(shown, words.TaskNumber.In(language, id))
	}
	return strings.Join(shown, ", ")
}
