package account

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewWebhook makes the group of commands about the caller's webhooks.
func NewWebhook() *cobra.Command {
	return terminal.Group(&cobra.Command{Use: "webhook", Short: "Let events be sent to addresses of yours"},
		remote.List[shape.Webhook]{
			Use: "list", Short: "List your webhooks, the oldest first",
			Path: "/v1/webhooks", Show: showWebhooks,
		}.Command(),
		newWebhookAdd(),
		remote.Ask[shape.Webhook]{
			Use: "test WEBHOOK", Short: "Send a test event, and show its outcome",
			Call: "POST /v1/webhooks/{}/test", Show: showTest,
		}.Command(),
		newWebhookRotate(),
		newWebhookReplay(),
		newWebhookState("pause", "Send nothing more until it is resumed", "PAUSED"),
		newWebhookState("resume", "Send at once, from the place that was reached", "ACTIVE"),
		remote.Do{
			Use: "remove WEBHOOK", Short: "Delete a webhook of yours",
			Call: "DELETE /v1/webhooks/{}",
			Done: func(args []string) string { return "webhook " + args[0] + " is deleted" },
		}.Command(),
	)
}

func newWebhookAdd() *cobra.Command {
	var workloads []string
	cmd := remote.Ask[shape.Webhook]{
		Use: "add ADDRESS", Short: "Send every event that you may see to an https address, and show the secret once",
		Call: "POST /v1/webhooks",
		Body: func(args []string) (any, error) {
			return map[string]any{"address": args[0], "workloads": append([]string{}, workloads...)}, nil
		},
		Show: showNewWebhook,
	}.Command()
	cmd.Flags().StringSliceVar(&workloads, "workload", nil, "whose events are sent, separated by commas; none: all")
	return cmd
}

func newWebhookRotate() *cobra.Command {
	var overlap time.Duration
	cmd := remote.Ask[shape.Webhook]{
		Use: "rotate WEBHOOK", Short: "Give a webhook a new secret, and show it once",
		Call: "POST /v1/webhooks/{}/rotate",
		Body: func([]string) (any, error) { return map[string]any{"overlap_seconds": int64(overlap.Seconds())}, nil },
		Show: showNewWebhook,
	}.Command()
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old secret signs too")
	return cmd
}

func newWebhookReplay() *cobra.Command {
	return remote.Ask[shape.Webhook]{
		Use: "replay WEBHOOK CURSOR", Short: "Send the events after the id of an event again",
		Call: "POST /v1/webhooks/{}/replay",
		Body: func(args []string) (any, error) { return map[string]any{"cursor": args[1]}, nil },
		Show: showWebhook,
	}.Command()
}

func newWebhookState(verb, short, state string) *cobra.Command {
	return remote.Ask[shape.Webhook]{
		Use: verb + " WEBHOOK", Short: short,
		Call: "PATCH /v1/webhooks/{}",
		Body: func([]string) (any, error) { return map[string]any{"state": state}, nil },
		Show: showWebhook,
	}.Command()
}

var showWebhooks = remote.Rows(func(w shape.Webhook) []string {
	return []string{
		w.ID, strings.TrimSpace(w.State + " " + shape.Value(w.Reason)), cmp.Or(strings.Join(w.Workloads, ","), "all"),
		terminal.When(shape.Value(w.DeliveredAt)), terminal.When(shape.Value(w.BehindSince)),
		terminal.When(shape.Value(w.FailingSince)), shape.Value(w.LastError), w.Address,
	}
}, "ID", "STATE", "WORKLOADS", "DELIVERED", "BEHIND SINCE", "FAILING SINCE", "ERROR", "ADDRESS")

func showWebhook(cmd *cobra.Command, w shape.Webhook) error {
	return showWebhooks(cmd, []shape.Webhook{w})
}

func showNewWebhook(cmd *cobra.Command, w shape.Webhook) error {
	if err := showWebhook(cmd, w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "secret (shown only once): %s\n", terminal.Printable(w.Secret))
	return err
}

func showTest(cmd *cobra.Command, w shape.Webhook) error {
	outcome := "the receiver has taken the test event"
	switch {
	case w.Test == nil || w.Test.At == nil:
		outcome = "the test event is under way: it shows in the webhook later"
	case w.Test.Error != nil:
		outcome = "the receiver has not taken the test event: " + *w.Test.Error
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(outcome))
	return err
}
