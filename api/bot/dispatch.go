package bot

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// respond finds the user and the command of a request, checks the right, and runs the handler.
func (b *Bot) respond(ctx context.Context, r *chat.Request) (err error) {
	r.User, err = b.person(ctx, r.From)
	if fault.CodeOf(err) == fault.RateLimited {
		b.refuseNewcomer(ctx, r)
		return nil
	}
	if err != nil {
		return err
	}

	name, run, args := b.handlerOf(r)
	asked := b.commandNamed(name)
	if refusal, refused := refusalOf(r.User, asked); refused {
		return b.refuse(ctx, r, asked, refusal)
	}
	if !b.takeRequest(ctx, r) {
		return nil
	}

	if r.User.IsAdmin() {
		ctx = core.Reserved(ctx) // administrators do not queue behind users
	}

	err = traced(ctx, "bot /"+name, func(ctx context.Context) error { return run(ctx, r, args) })
	if err != nil {
		return err
	}

	if !asked.Admin && r.Subject == "" {
		return nil
	}
	// The handler has run: an outage of PostgreSQL while the audit entry is written must not run it again.
	return core.RetryWhileUnavailable(ctx, func() error { return b.audit(ctx, r, asked, account.OutcomeDone) })
}

// traced runs a request as the root of a trace.
func traced(ctx context.Context, name string, run func(context.Context) error) error {
	ctx, span := otel.Tracer("stagecoach/bot").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()

	err := run(ctx)
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	return err
}

// handlerOf returns the name of a request's command, and the handler with its arguments.
func (b *Bot) handlerOf(r *chat.Request) (name string, handler chat.Handler, args chat.Args) {
	if r.Click != "" {
		data := strings.Split(r.Data, ":")
		for _, button := range b.buttons {
			if button.Prefix == data[0] {
				return button.Command, button.Run, data[1:]
			}
		}
		return "help", saying(chat.TextStaleButton), nil
	}

	if typed, isCommand := strings.CutPrefix(r.Words, "/"); isCommand {
		name, r.Args = chat.FirstWord(strings.TrimSpace(typed))
		name, _, _ = strings.Cut(strings.ToLower(name), "@") // Telegram may append the bot's name
		if known := b.commandNamed(name); known.Run != nil {
			return name, known.Run, nil
		}
		return "help", saying(textUnknownCommand), nil
	}

	// The first part, deliveries, searches for words that match nothing else.
	for _, words := range slices.Backward(b.words) {
		if words.Match(r) {
			return words.Command, words.Run, nil
		}
	}
	return "help", saying(chat.TextOnlyWords), nil
}

// saying returns a handler that only shows a text.
func saying(text words.Text) chat.Handler {
	return func(context.Context, *chat.Request, chat.Args) error { return chat.Hint{Text: text} }
}

// commandNamed finds a command. A command that does not exist cannot be run.
func (b *Bot) commandNamed(name string) chat.Command {
	if i := slices.IndexFunc(b.commands, func(c chat.Command) bool { return c.Name == name }); i >= 0 {
		return b.commands[i]
	}
	return chat.Command{Name: name}
}

func (b *Bot) audit(ctx context.Context, r *chat.Request, c chat.Command, outcome string) error {
	return b.store.Accounts.Audit(ctx, account.AuditEntry{
		ActorID: &r.User.ID, Action: "bot:/" + c.Name, Subject: r.Subject, Outcome: outcome, Door: account.DoorBot,
	})
}

// explain tells the person the reason for a failure in plain words, and logs the details.
func (b *Bot) explain(ctx context.Context, r *chat.Request, err error) {
	if hint, ok := errors.AsType[chat.Hint](err); ok {
		b.Tell(ctx, r, r.Say(hint.Text, hint.Args...))
		return
	}

	b.countRefused(err)
	problem := fault.As(err)
	if problem == nil {
		problem = fault.New(fault.Internal, "unexpected").WithCause(err)
	}

	log := b.Log.With("user", b.Pseudonym(r.From.ID), "update", r.Update)
	if problem.Code == fault.Internal {
		log.Error("bot: request failed", "error", problem.Cause)
	} else {
		log.Info("bot: request refused", "code", problem.Code)
	}

	limit, _ := problem.Details["limit"].(string)
	if reached, known := b.texts.Quotas[limit]; known && problem.Code == fault.QuotaExceeded {
		b.Tell(ctx, r, r.Say(reached, problem.Details["maximum"]))
		return
	}

	b.Tell(ctx, r, r.Say(b.texts.Faults.Text(problem.Code)))
}
