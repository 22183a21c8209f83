// Package delivery has the commands about deliveries and the files of the shared folder.
package delivery

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// errNotDelivered ends a command whose answer has told already how the delivery ended.
type errNotDelivered struct{ d Delivery }

func (e errNotDelivered) Error() string {
	text := fmt.Sprintf("delivery %s ended %s", e.d.ID, e.d.State)
	if e.d.LastError != "" {
		text += ": " + e.d.LastError
	}
	return text
}

func New() *cobra.Command {
	var t remote.Target
	var wait, noWait, asJSON bool
	var key string
	cmd := &cobra.Command{
		Use:   "deliver PATH|FILE_ID",
		Short: "Deliver a file of the shared folder to your Telegram chat, and look after deliveries",
		Long: `Deliver a file of the shared folder to your Telegram chat.

The file is named by its path in the shared folder, or by its id (digits only; a file whose
name is digits only is named with a slash before it). By default the command shows the
progress and waits for the end: then exit code 0 means DELIVERED.`,
		Example: "  starter deliver /reports/2026.pdf\n  starter deliver 42 --no-wait --json",
		Args:    terminal.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("wait") && wait == noWait {
				return terminal.UsageError("--wait and --no-wait contradict each other")
			}
			c, err := t.AsUser()
			if err != nil {
				return err
			}
			return deliver(cmd, c, args[0], cmp.Or(key, rand.Text()), wait && !noWait, asJSON)
		},
	}

	t.AddFlags(cmd)
	cmd.Flags().BoolVar(&wait, "wait", true, "show the progress and wait for the end")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "only ask for the delivery")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the API's answer, without progress")
	cmd.Flags().StringVar(
		&key, "idempotency-key", "", "the same key and file again give the same delivery (default: a new one each time)",
	)
	cmd.AddCommand(newDeliverList(&t), newDeliverShow(&t), newDeliverCancel(&t))
	return cmd
}

func deliver(cmd *cobra.Command, c *client.Client, name, key string, wait, asJSON bool) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	fileID := name
	if strings.Trim(name, "0123456789") != "" {
		found, err := findFile(ctx, c, "/"+strings.TrimLeft(name, "/"))
		if err != nil {
			return err
		}
		fileID = found.FileID
	}

	answer, existed, err := Ask(ctx, c, fileID, key)
	if err != nil {
		return err
	}

	job, err := client.Decode[Delivery](answer)
	if err != nil {
		return err
	}

	if !asJSON {
		said := "is asked for"
		if existed {
			said = "was asked for before with this key"
		}
		fmt.Fprintf(
			out, "delivery %s of %s (%s) %s\n", job.ID, terminal.Printable(job.FileName), terminal.BytesText(job.Size), said,
		)
	}

	if wait {
		if job, answer, err = watchDelivery(cmd, c, job.ID, asJSON); err != nil {
			return err
		}
	}

	if asJSON {
		err = terminal.Verbatim(out, answer)
	} else if !wait {
		fmt.Fprintf(out, "see how it goes: starter deliver show %s\n", job.ID)
	}

	if err == nil && wait && job.State != lifecycle.DeliveryDelivered {
		return errNotDelivered{job}
	}
	return err
}

// watchDelivery follows a delivery to its end before the eyes of a person, or silently.
func watchDelivery(cmd *cobra.Command, c *client.Client, id string, quiet bool) (Delivery, []byte, error) {
	var speed Speedometer
	last, answer, err := remote.Watch(cmd, c, jobPath(id), lookAtDelivery, quiet, func(d Delivery) string {
		return ProgressLine(d, speed.Look(d))
	})
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("no longer waiting: the delivery goes on (starter deliver show %s, or cancel)", id)
	}
	return last, answer, err
}

func newDeliverList(t *remote.Target) *cobra.Command {
	var state, cursor string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List deliveries, the newest first (an administrator sees everybody's)",
		Args:  terminal.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.AsUser()
			if err != nil {
				return err
			}

			query := url.Values{"limit": {strconv.Itoa(limit)}}
			remote.SetUnlessEmpty(query, map[string]string{"state": strings.ToUpper(state), "cursor": cursor})
			answer, err := c.Get(cmd.Context(), "/v1/deliveries", query)
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.Verbatim(cmd.OutOrStdout(), answer)
			}

			return showDeliveries(cmd, answer)
		},
	}

	cmd.Flags().StringVar(&state, "in-state", "", "only those in this state, such as QUEUED or DELIVERED")
	remote.AddListFlags(cmd, &limit, &cursor, &asJSON)
	return cmd
}

func showDeliveries(cmd *cobra.Command, answer []byte) error {
	list, err := client.Decode[client.Page[Delivery]](answer)
	if err != nil {
		return err
	}

	rows := [][]string{{"ID", "STATE", "FILE", "SIZE", "TRIES FAILED", "ASKED FOR", "LAST ERROR"}}
	for _, d := range list.Items {
		rows = append(
			rows,
			[]string{
				d.ID, string(d.State), d.FileName, terminal.BytesText(d.Size), strconv.Itoa(d.Attempt), terminal.When(d.CreatedAt),
				d.LastError,
			},
		)
	}

	if err := terminal.Table(cmd.OutOrStdout(), rows); err != nil {
		return err
	}

	remote.MentionMore(cmd, list.NextCursor)
	return nil
}

func newDeliverShow(t *remote.Target) *cobra.Command {
	return oneDelivery(t, "show ID", "Show one delivery", func(ctx context.Context, c *client.Client, id string) ([]byte, error) {
		return c.Get(ctx, jobPath(id), nil)
	})
}

func newDeliverCancel(t *remote.Target) *cobra.Command {
	return oneDelivery(t, "cancel ID", "Stop a delivery that has not ended", func(ctx context.Context, c *client.Client, id string) ([]byte, error) {
		answer, _, err := c.Send(ctx, client.Call{Method: http.MethodPost, Path: jobPath(id) + "/cancel"})
		return answer, err
	})
}

// oneDelivery is a command that does something with one delivery and shows it.
func oneDelivery(
	t *remote.Target, use, short string, do func(context.Context, *client.Client, string) ([]byte, error),
) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: terminal.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.AsUser()
			if err != nil {
				return err
			}

			answer, err := do(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.Verbatim(cmd.OutOrStdout(), answer)
			}

			d, err := client.Decode[Delivery](answer)
			if err != nil {
				return err
			}
			return showDelivery(cmd, d)
		},
	}

	cmd.Flags().BoolVar(&asJSON, "json", false, "print the API's answer")
	return cmd
}

func showDelivery(cmd *cobra.Command, d Delivery) error {
	rows := [][]string{
		{"delivery", d.ID},
		{"state", string(d.State)},
		{"file", fmt.Sprintf("%s (id %s)", d.FileName, d.FileID)},
		{"sent", fmt.Sprintf("%s of %s", terminal.BytesText(d.BytesSent), terminal.BytesText(d.Size))},
		{"tries failed", fmt.Sprintf("%d of %d", d.Attempt, lifecycle.DeliveryTries)},
		{"asked for", terminal.When(d.CreatedAt)},
		{"changed", terminal.When(d.UpdatedAt)},
		{"workflow", d.WorkflowID},
	}

	if d.PlaceInLine > 0 {
		rows = append(rows, []string{"place in line", strconv.Itoa(d.PlaceInLine)})
	}

	if d.LastError != "" {
		rows = append(rows, []string{"last error", d.LastError})
	}

	if !d.NextAt.IsZero() {
		rows = append(rows, []string{"next try", terminal.When(d.NextAt)})
	}

	if !d.DeadlineAt.IsZero() {
		rows = append(rows, []string{"ends by itself", terminal.When(d.DeadlineAt)})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}
