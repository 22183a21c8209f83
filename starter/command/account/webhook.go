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
	return terminal.Group(&cobra.Command{Use: "webhook", Short: "Send events to your own addresses"},
		remote.List[shape.Webhook]{
			Use: "list", Short: "List your webhooks, oldest first",
			Path: "/v1/webhooks", Show: showWebhooks,
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "add ADDRESS", Short: "Send every event you can see to an https address, and show the secret once",
			Call: "POST /v1/webhooks", Keyed: true, Text: "address",
			Fields: []remote.Field{{
				Flag: "workload", Name: "workloads", Value: []string(nil), Always: true,
				About: "workloads whose events are sent, comma-separated (default: all)",
			}},
			Show: showNewWebhook,
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "test WEBHOOK", Short: "Send a test event and show the outcome",
			Call: "POST /v1/webhooks/{}/test", Show: showTest, Verdict: testVerdict,
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "rotate WEBHOOK", Short: "Give a webhook a new secret and show it once",
			Call: "POST /v1/webhooks/{}/rotate",
			Fields: []remote.Field{{
				Flag: "overlap", Name: "overlap_seconds", Value: 24 * time.Hour, Always: true,
				About: "how long the old secret signs too",
			}},
			Show: showNewWebhook,
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "replay WEBHOOK CURSOR", Short: "Send again every event after this event id",
			Call: "POST /v1/webhooks/{}/replay", Text: "cursor", Show: remote.One(showWebhooks),
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "pause WEBHOOK", Short: "Stop sending until the webhook is resumed",
			Call: "PATCH /v1/webhooks/{}", Fixed: map[string]any{"state": "PAUSED"}, Show: remote.One(showWebhooks),
		}.Command(),
		remote.Ask[shape.Webhook]{
			Use: "resume WEBHOOK", Short: "Resume sending where it left off",
			Call: "PATCH /v1/webhooks/{}", Fixed: map[string]any{"state": "ACTIVE"}, Show: remote.One(showWebhooks),
		}.Command(),
		remote.Do{
			Use: "remove WEBHOOK", Short: "Delete one of your webhooks",
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
	if err := remote.One(showWebhooks)(cmd, w); err != nil || w.Secret == "" { // a repeated request has none
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "secret (shown only once): %s\n", terminal.Printable(w.Secret))
	return err
}

func showTest(cmd *cobra.Command, w shape.Webhook) error {
	outcome := "the receiver accepted the test event"
	switch {
	case w.Test == nil || w.Test.At == nil:
		outcome = "the test event is still being sent: check the webhook later"
	case w.Test.Error != nil:
		return nil // testVerdict reports it
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), outcome)
	return err
}

// testVerdict is the error for a receiver that did not accept the test event, with advice.
func testVerdict(w shape.Webhook) error {
	if w.Test == nil || w.Test.Error == nil {
		return nil
	}

	code := *w.Test.Error
	next, known := repairs[fault.Code(code)]
	if !known {
		next = "try again in a moment"
	}
	return fmt.Errorf("the receiver did not accept the test event: %s\nnext: %s", code, next)
}

// repairs advise what to do about a receiver that rejects events.
var repairs = map[fault.Code]string{
	fault.WebhookRefused:     "make the receiver return 2xx: its own log says why it does not; redirects are not followed",
	fault.WebhookGone:        "make the receiver return 2xx: 410 means that it wants no more events, and pauses the webhook",
	fault.WebhookTimeout:     "make the receiver respond as soon as it has stored the event, and process the event afterwards",
	fault.WebhookUnreachable: "check that the receiver is running, and that its host name and certificate are correct",
	fault.WebhookForbidden:   "use an address on the Internet, or ask an administrator for STAGECOACH_WEBHOOK_PRIVATE",
}
