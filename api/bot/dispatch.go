package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mymmrac/telego"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// command is what a person can ask for by name. Buttons and plain words stand for a command too, so that the right to
// use something is told in one place.
type command struct {
	name  string // without the slash
	about text   // a line for the menu and for /help
	open  bool   // also for people who are not approved yet
	admin bool   // for administrators only, and audited
	run   func(context.Context, *request) error
}

// button is what the data of an inline button means: "<prefix>:<argument>:…", at most 64 bytes.
type button struct {
	prefix  string
	command string // whose right it needs
	run     func(ctx context.Context, r *request, args []string) error
}

// incoming is what somebody did: wrote a message or pressed a button.
type incoming struct {
	update  int64
	from    telego.User
	chat    int64
	private bool
	words   string // the message
	date    int64  // when it was written, in Unix seconds
	click   string // id of the press; empty for a message
	data    string // of the button
	message int64  // the one to draw on, where there is one: the button's
}

// request is what a person did, on its way through a handler.
type request struct {
	incoming
	args    string // what stands behind a command
	user    store.User
	conv    store.Conversation // saved when the request is done
	note    string             // shown to who pressed the button
	alert   bool               // … in a window that must be closed
	subject string             // for the audit: on whom or what an administrator's right was used
	forget  bool               // nothing of it is saved
}

// key is the request's own: the same however often the update comes. Telegram numbers its updates anew now and then.
func (in incoming) key() string { return fmt.Sprintf("bot/%d/%d", in.date, in.update) }

// say gives a text in the person's language.
func (r *request) say(t text, args ...any) string { return t.in(r.user.Language, args...) }

// read takes from an update what the bot understands; false: nothing.
func read(update telego.Update) (incoming, bool) {
	in := incoming{update: int64(update.UpdateID)}
	switch message, click := update.Message, update.CallbackQuery; {
	case message != nil && message.From != nil && !message.From.IsBot:
		in.from, in.words, in.date = *message.From, strings.TrimSpace(message.Text), message.Date
		in.chat, in.private = message.Chat.ID, message.Chat.Type == telego.ChatTypePrivate
	case click != nil && click.Message != nil:
		chat := click.Message.GetChat()
		in.from, in.click, in.data, in.message = click.From, click.ID, click.Data, int64(click.Message.GetMessageID())
		in.chat, in.private = chat.ID, chat.Type == telego.ChatTypePrivate
	default:
		return in, false
	}

	return in, true
}

// respond finds out who asks for what, whether they may, and does it.
func (b *Bot) respond(ctx context.Context, r *request) (err error) {
	r.user, err = b.person(ctx, r.from)
	if fault.CodeOf(err) == fault.RateLimited {
		return b.turnAway(ctx, r)
	}
	if err != nil {
		return err
	}

	name, run := b.route(r)
	asked := b.commandNamed(name)
	if refusal, refused := refusalOf(r.user, asked); refused {
		return b.refuse(ctx, r, asked, refusal)
	}
	if mayGoOn, err := b.takeRequest(ctx, r); !mayGoOn {
		return err
	}

	if r.user.IsAdmin() {
		ctx = store.Reserved(ctx) // administrators do not queue behind users
	}

	if err := traced(ctx, "bot /"+name, r, run); err != nil {
		return err
	}
	if asked.admin || r.subject != "" {
		// What is done is not done again because the audit log is away for a moment.
		return store.RetryWhileUnavailable(ctx, func() error { return b.audit(ctx, r, asked, store.OutcomeDone) })
	}

	return nil
}

// traced runs what was asked for as the beginning of a trace.
func traced(ctx context.Context, name string, r *request, run func(context.Context, *request) error) error {
	ctx, span := otel.Tracer("stagecoach/bot").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	err := run(ctx, r)
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	return err
}

// route gives the command that a request stands for, and what to do.
func (b *Bot) route(r *request) (name string, run func(context.Context, *request) error) {
	if r.click != "" {
		args := strings.Split(r.data, ":")
		for _, button := range b.buttons {
			if button.prefix == args[0] {
				return button.command, func(ctx context.Context, r *request) error { return button.run(ctx, r, args[1:]) }
			}
		}
		return "help", func(context.Context, *request) error { return hint{text: textStaleButton} }
	}

	typed, isCommand := strings.CutPrefix(r.words, "/")
	switch {
	case isCommand:
	case asksForComment(r.conv.Ask):
		return "task", b.takeComment
	case asksForWish(r.conv.Ask), hasLink(r.words):
		return "download", b.takeWish
	default:
		return "files", b.searchWords
	}

	if fields := strings.Fields(typed); len(fields) > 0 {
		name = fields[0]
	}

	r.args = strings.TrimSpace(strings.TrimPrefix(typed, name))
	name, _, _ = strings.Cut(strings.ToLower(name), "@") // Telegram may add the bot's name
	if known := b.commandNamed(name); known.run != nil {
		return name, known.run
	}

	return "help", func(context.Context, *request) error { return hint{text: textUnknownCommand} }
}

// commandNamed finds a command; one that does not exist cannot be run.
func (b *Bot) commandNamed(name string) command {
	if i := slices.IndexFunc(b.commands, func(c command) bool { return c.name == name }); i >= 0 {
		return b.commands[i]
	}
	return command{name: name}
}

func (b *Bot) audit(ctx context.Context, r *request, c command, outcome string) error {
	return b.store.Audit(ctx, store.AuditEntry{
		ActorID: &r.user.ID, Action: "bot:/" + c.name, Subject: r.subject, Outcome: outcome, Door: store.DoorBot,
	})
}

// hint is an error that is nothing but a sentence for the person.
type hint struct {
	text text
	args []any
}

// Error implements error.
func (h hint) Error() string { return h.text.in("en", h.args...) }

// explain tells the person in plain words why it did not work, and the log the rest.
func (b *Bot) explain(ctx context.Context, r *request, err error) {
	if h, ok := errors.AsType[hint](err); ok {
		b.tell(ctx, r, r.say(h.text, h.args...))
		return
	}

	b.countRefused(err)
	problem := fault.As(err)
	if problem == nil {
		problem = fault.New(fault.Internal, "unexpected").WithCause(err)
	}

	if problem.Code == fault.Internal {
		b.log.Error("bot: request failed", "user", who(r.from.ID), "update", r.update, "error", problem.Cause)
	} else {
		b.log.Info("bot: request refused", "user", who(r.from.ID), "update", r.update, "code", problem.Code)
	}

	if t, ok := quotaText(problem); ok && problem.Code == fault.QuotaExceeded {
		b.tell(ctx, r, r.say(t, problem.Details["maximum"]))
		return
	}

	b.tell(ctx, r, r.say(faultText(problem.Code)))
}

// number reads an argument of a button; -1, the id of nothing, when it is missing or no number.
func number(args []string, i int) int64 {
	if i >= len(args) {
		return -1
	}
	n, err := strconv.ParseInt(args[i], 10, 64)
	if err != nil {
		return -1
	}
	return n
}
