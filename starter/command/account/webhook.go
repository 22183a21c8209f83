package account

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
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
		remote.Ask[shape.Webhook]{
			Use: "add ADDRESS", Short: "Send every event that you may see to an https address, and show the secret once",
			Call: "POST /v1/webhooks", Keyed: true, Text: "address",
			Fields: []remote.Field{{
				Flag: "workload", Name: "workloads", Value: []string(nil), Always: true,
				About: "whose events are sent, separated by commas; none: all",
			}},
			Show: showNewWebhook,
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "test WEBHOOK", Short: "Send a test event, and show its outcome",
			Call: "POST /v1/webhooks/{}/test", Show: showTest, Verdict: testVerdict,
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "rotate WEBHOOK", Short: "Give a webhook a new secret, and show it once",
			Call: "POST /v1/webhooks/{}/rotate",
			Fields: []remote.Field{{
				Flag: "overlap", Name: "overlap_seconds", Value: 24 * time.Hour, Always: true,
				About: "how long the old secret signs too",
			}},
			Show: showNewWebhook,
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "replay WEBHOOK CURSOR", Short: "Send the events after the id of an event again",
			Call: "POST /v1/webhooks/{}/replay", Text: "cursor", Show: remote.One(showWebhooks),
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "pause WEBHOOK", Short: "Send nothing more until it is resumed",
			Call: "PATCH /v1/webhooks/{}", Fixed: map[string]any{"state": "PAUSED"}, Show: remote.One(showWebhooks),
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "resume WEBHOOK", Short: "Send at once, from the place that was reached",
			Call: "PATCH /v1/webhooks/{}", Fixed: map[string]any{"state": "ACTIVE"}, Show: remote.One(showWebhooks),
		}.Command(),
		remote.Do{
			Use: "remove WEBHOOK", Short: "Delete a webhook of yours",
			Call: "DELETE /v1/webhooks/{}",
			Done: func(args []string) string { return "webhook " + args[0] + " is deleted" },
		}.Command(),
	)
}

var showWebhooks = remote.Rows(func(w shape.Webhook) []string {
	return []string{
		w.ID, strings.TrimSpace(w.State + " " + shape.Value(w.Reason)), cmp.Or(strings.Join(w.Workloads, ","), "all"),
		terminal.When(shape.Value(w.DeliveredAt)), terminal.When(shape.Value(w.BehindSince)),
		terminal.When(shape.Value(w.FailingSince)), shape.Value(w.LastError), w.Address,
	}
}, "ID", "STATE", "WORKLOADS", "DELIVERED", "BEHIND SINCE", "FAILING SINCE", "ERROR", "ADDRESS")

func showNewWebhook(cmd *cobra.Command, w shape.Webhook) error {
	if err := remote.One(showWebhooks)(cmd, w); err != nil || w.Secret == "" { // the repetition of a request has none
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
		return nil // testVerdict says it
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), outcome)
	return err
}

// testVerdict is the error of a receiver that has not taken the test event, with what to do about it.
func testVerdict(w shape.Webhook) error {
	if w.Test == nil || w.Test.Error == nil {
		return nil
	}

	code := *w.Test.Error
	next, known := repairs[fault.Code(code)]
	if !known {
		next = "try again in a moment"
	}
	return fmt.Errorf("the receiver has not taken the test event: %s\nnext: %s", code, next)
}

// repairs say what to do about a receiver that does not take events.
var repairs = map[fault.Code]string{
	fault.WebhookRefused:     "let the receiver answer 2xx: its own log says why it does not; redirects are not followed",
	fault.WebhookGone:        "let the receiver answer 2xx: 410 says that it wants no events, and pauses the webhook",
	fault.WebhookTimeout:     "let the receiver answer as soon as it has stored the event, and work on it later",
	fault.WebhookUnreachable: "check that the receiver runs, and that its name and its certificate are right",
	fault.WebhookForbidden:   "use an address on the Internet, or ask an administrator for STAGECOACH_WEBHOOK_PRIVATE",
}
