// Package delivery has the commands about deliveries and the files of the shared folder.
package delivery

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// New makes the command deliver, with the commands about deliveries below it.
func New() *cobra.Command {
	var t remote.Target
	var wait, noWait, asJSON bool
	var key string
	cmd := &cobra.Command{
		Use:   "deliver PATH|FILE_ID",
		Short: "Deliver a file of the shared folder to your Telegram chat, and manage deliveries",
		Long: `Deliver a file of the shared folder to your Telegram chat.

The file is named by its path in the shared folder, or by its id (digits only; write a slash
before a file name of digits only). By default the command shows the progress and waits for
the end: exit code 0 then means DELIVERED. With --no-wait it means that the delivery is queued.`,
		Example: "  starter deliver /reports/2026.pdf\n  starter deliver 42 --no-wait --json",
		Args:    terminal.Exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("wait") && wait == noWait {
				return terminal.UsageError("--wait and --no-wait contradict each other: give one of them")
			}
			c, err := t.AsUser()
			if err != nil {
				return err
			}
			return deliver(cmd, c, args[0], cmp.Or(key, rand.Text()), wait && !noWait, asJSON)
		},
	}

	t.AddFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&wait, "wait", true, "show the progress and wait for the end")
	flags.BoolVar(&noWait, "no-wait", false, "return as soon as the delivery is queued")
	flags.BoolVar(&asJSON, "json", false, "print the API's answer, without progress")
	flags.StringVar(
		&key, "idempotency-key", "", "the same key and file again give the same delivery (default: a new one each time)",
	)
	cmd.AddCommand(newList(&t), newShow(&t), newCancel(&t))
	return cmd
}

func deliver(cmd *cobra.Command, c *client.Client, name, key string, wait, asJSON bool) error {
	fileID := name
	if strings.Trim(name, "0123456789") != "" {
		found, err := findFile(cmd.Context(), c, "/"+strings.TrimLeft(name, "/"))
		if err != nil {
			return err
		}
		fileID = found.FileID
	}

	answer, existed, err := Ask(cmd.Context(), c, fileID, key)
	if err != nil {
		return err
	}
	job, err := client.Decode[shape.Delivery](answer)
	if err != nil {
		return err
	}

	if !asJSON {
		said := "is asked for"
		if existed {
			said = "was asked for before with this key"
		}
		fmt.Fprintf(
			cmd.OutOrStdout(), "delivery %s of %s (%s) %s\n",
			job.ID, terminal.Printable(job.FileName), terminal.BytesText(job.Size), said,
		)
	}

	var speed Speedometer
	return remote.Wait[shape.Delivery]{
		Wait: wait, AsJSON: asJSON, Path: jobPath(job.ID), Every: pollInterval, Show: "starter deliver show " + job.ID,
		State:    func(d shape.Delivery) string { return string(d.State) },
		Change:   ChangeLine,
		Progress: func(d shape.Delivery) string { return ProgressLine(d, speed.Look(d)) },
		Failure:  notDelivered,
	}.Finish(cmd, c, answer)
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

func newList(t *remote.Target) *cobra.Command {
	var state string
	cmd := remote.List[shape.Delivery]{
		As: t.AsUser, Use: "list", Short: "List your deliveries, the newest first (an administrator sees everybody's)",
		Args: terminal.Exactly(0),
		Query: func([]string) (string, map[string]string) {
			return "/v1/deliveries", map[string]string{"state": strings.ToUpper(state)}
		},
		Show: showDeliveries,
	}.Command()
	cmd.Flags().StringVar(&state, "in-state", "", "only those in this state, such as QUEUED or DELIVERED")
	return cmd
}

func newShow(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Delivery]{
		As: t.AsUser, Use: "show ID", Short: "Show one delivery", Args: terminal.Exactly(1),
		Call: remote.Get(jobPath),
		Show: showDelivery,
	}.Command()
}

func newCancel(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Delivery]{
		As: t.AsUser, Use: "cancel ID", Short: "Cancel a delivery that has not ended", Args: terminal.Exactly(1),
		Call: func(args []string) (client.Call, error) {
			return client.Call{Method: http.MethodPost, Path: jobPath(args[0]) + "/cancel"}, nil
		},
		Show: showDelivery,
	}.Command()
}

func showDeliveries(cmd *cobra.Command, deliveries []shape.Delivery) error {
	rows := [][]string{{"ID", "STATE", "FILE", "SIZE", "FAILED TRIES", "CREATED", "LAST ERROR"}}
	for _, d := range deliveries {
		rows = append(rows, []string{
			d.ID, string(d.State), d.FileName, terminal.BytesText(d.Size), strconv.Itoa(d.Attempt),
			terminal.When(d.CreatedAt), shape.Value(d.LastError),
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

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
		[]string{"failed tries", fmt.Sprintf("%d of %d", d.Attempt, lifecycle.DeliveryTries)},
		[]string{"created", terminal.When(d.CreatedAt)},
		[]string{"changed", terminal.When(d.UpdatedAt)},
		[]string{"workflow", d.WorkflowID},
		[]string{"place in line", place},
		[]string{"last error", shape.Value(d.LastError)},
		[]string{"next try", terminal.WhenSet(d.NextAttemptAt)},
		[]string{"expires", terminal.WhenSet(d.DeadlineAt)},
	))
}
