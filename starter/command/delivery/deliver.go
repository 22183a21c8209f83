// Package delivery has the commands about deliveries and the files of the shared folder.
package delivery

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// New makes the command deliver, with the commands about deliveries below it.
func New() *cobra.Command {
	var wait, noWait, asJSON bool
	var key string
	cmd := &cobra.Command{
		Use: "deliver PATH|FILE_ID", SuggestFor: []string{"deliveries", "send"},
		Short: "Deliver a file of the shared folder to your Telegram chat, and manage deliveries",
		Long: `Deliver a file of the shared folder to your Telegram chat.

Name the file by its path in the shared folder or by its id (digits only; put a slash before a
file name that is all digits). By default the command shows progress and waits for the end:
exit code 0 then means DELIVERED. With --no-wait it means that the delivery is queued.`,
		Example: "  starter deliver /reports/2026.pdf\n  starter deliver 42 --no-wait --json",
		Args:    terminal.AsUsed,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("wait") && wait == noWait {
				return terminal.UsageError("--wait and --no-wait contradict each other: give only one")
			}
			return deliver(cmd, args[0], cmp.Or(key, rand.Text()), wait && !noWait, asJSON)
		},
	}

	flags := cmd.Flags()
	flags.BoolVar(&wait, "wait", true, "show progress and wait for the end")
	flags.BoolVar(&noWait, "no-wait", false, "return as soon as the delivery is queued")
	flags.BoolVar(&asJSON, "json", false, "print the API's response as JSON, without progress")
	flags.StringVar(
		&key, "idempotency-key", "", "the same key with the same file returns the same delivery (default: a new delivery each time)",
	)

	cmd.AddCommand(
		remote.List[shape.Delivery]{
			Use: "list", Short: "List your deliveries, newest first (administrators see everyone's)",
			Path: "/v1/deliveries",
			Filters: []remote.Filter{{
				Flag: "in-state", Parameter: "state", Write: strings.ToUpper, Values: lifecycle.Delivery.StateNames(),
				About: "filter by state, such as QUEUED or DELIVERED",
			}},
			Show: showDeliveries,
		}.Command(),
		remote.Ask[shape.Delivery]{
			Use: "show ID", Short: "Show one delivery",
			Call: "GET /v1/deliveries/{}", Show: showDelivery,
		}.Command(),
		remote.Ask[shape.Delivery]{
			Use: "cancel ID", Short: "Cancel a delivery that has not ended",
			Call: "POST /v1/deliveries/{}/cancel", Show: showDelivery,
		}.Command(),
	)

	return cmd
}

// NextSteps advise what to do about a refusal.
var NextSteps = map[fault.Code]string{
	fault.NoTelegramChat:   "send /start to the bot as this user, or request the delivery as another user",
	fault.FileNotFound:     "list the files: starter files [PATH]",
	fault.FileIsFolder:     "list its files: starter files [PATH]",
	fault.FileTooBig:       "choose another file: Telegram does not accept this one",
	fault.FileEmpty:        "choose another file: Telegram does not accept this one",
	fault.DeliveryNotFound: "list them: starter deliver list",
}

func deliver(cmd *cobra.Command, name, key string, wait, asJSON bool) error {
	c, err := remote.Client(cmd, false)
	if err != nil {
		return err
	}

	fileID := name
	if strings.Trim(name, "0123456789") != "" {
		found, err := findFile(cmd.Context(), c, "/"+strings.TrimLeft(name, "/"))
		if err != nil {
			return err
		}
		fileID = found.FileID
	}

	var speed Speedometer
	return remote.Wait[shape.Delivery]{
		Wait: wait, AsJSON: asJSON, Call: Call(fileID, key), Asked: asked,
		ID:   func(d shape.Delivery) string { return d.ID },
		Jobs: "/v1/deliveries/", Show: "starter deliver show", Every: pollInterval,
		State:    func(d shape.Delivery) string { return string(d.State) },
		Change:   ChangeLine,
		Progress: func(d shape.Delivery) string { return ProgressLine(d, speed.Measure(d)) },
		Failure:  notDelivered,
	}.Run(cmd, c)
}

// asked is the line about a requested delivery.
func asked(d shape.Delivery, existed bool) string {
	said := "is requested"
	if existed {
		said = "was already requested with this key"
	}
	return fmt.Sprintf("delivery %s of %s (%s) %s", d.ID, terminal.Printable(d.FileName), terminal.BytesText(d.Size), said)
}

// notDelivered is the error of a delivery that ended in another state than DELIVERED.
func notDelivered(d shape.Delivery) error {
	switch {
	case d.State == lifecycle.DeliveryDelivered:
		return nil
	case d.LastError != nil:
		return fmt.Errorf("delivery %s ended %s: %s", d.ID, d.State, *d.LastError)
	default:
		return fmt.Errorf("delivery %s ended %s", d.ID, d.State)
	}
}

var showDeliveries = remote.Rows(func(d shape.Delivery) []string {
	return []string{
		d.ID, string(d.State), d.FileName, terminal.BytesText(d.Size), strconv.Itoa(d.Attempt),
		terminal.When(d.CreatedAt), shape.Value(d.LastError),
	}
}, "ID", "STATE", "FILE", "SIZE", "FAILED TRIES", "CREATED", "LAST ERROR")

func showDelivery(cmd *cobra.Command, d shape.Delivery) error {
	place := ""
	if d.PlaceInLine != nil {
		place = strconv.Itoa(*d.PlaceInLine)
	}

	return terminal.Table(cmd.OutOrStdout(), terminal.Filled(
		[]string{"delivery", d.ID},
		[]string{"state", string(d.State)},
		[]string{"file", fmt.Sprintf("%s (id %s)", d.FileName, d.FileID)},
		[]string{"sent", fmt.Sprintf("%s of %s", terminal.BytesText(d.BytesSent), terminal.BytesText(d.Size))},
		[]string{"failed attempts", fmt.Sprintf("%d of %d", d.Attempt, lifecycle.DeliveryTries)},
		[]string{"created", terminal.When(d.CreatedAt)},
		[]string{"changed", terminal.When(d.UpdatedAt)},
		[]string{"workflow", d.WorkflowID},
		[]string{"place in queue", place},
		[]string{"last error", shape.Value(d.LastError)},
		[]string{"waits for", strings.ReplaceAll(shape.Value(d.WaitsFor), "_", " ")},
		[]string{"next attempt", terminal.WhenSet(d.NextAttemptAt)},
		[]string{"expires", terminal.WhenSet(d.DeadlineAt)},
	))
}
