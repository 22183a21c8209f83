package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// answered says whether every process has answered.
func answered(e shape.Doctor) bool {
	return !slices.ContainsFunc(e.Processes, func(p shape.ProcessChecks) bool { return !p.Answered })
}

// errNotConnected is the error of an examination that found an outside system that does not work.
var errNotConnected = errors.New("not everything that is configured works: follow the lines that begin with next")

// examinationPause is the time between two readings of the answers.
const examinationPause = 500 * time.Millisecond

// NewDoctor makes the command that checks what each process can reach.
func NewDoctor() *cobra.Command {
	wait := 45 * time.Second
	cmd := remote.Ask[shape.Doctor]{
		Admin: true, Use: "doctor",
		Short: "Check which systems each process can reach, and with which account (administrators only)",
		Long: `Check which systems each process can reach, and with which account.

Every process checks the systems that are configured for it with its own credentials; the
command waits for the answers. No token is renewed and no purchase is started: what only these
would show is "unverified". Exit code 0 means that everything that is configured works.`,
		Answer: func(ctx context.Context, c *client.Client, _ []string) ([]byte, error) { return examine(ctx, c, wait) },
		Show:   showExamination,
		Verdict: func(found shape.Doctor) error {
			if !found.Works {
				return errNotConnected
			}
			return nil
		},
	}.Command()

	cmd.Flags().DurationVar(&wait, "wait", wait, "how long to wait for the answers of the processes")
	return cmd
}

// examine requests a check by all processes, and waits until each has answered or the time is over.
func examine(ctx context.Context, c *client.Client, wait time.Duration) ([]byte, error) {
	deadline := time.Now().Add(wait)
	answer, _, err := c.Send(ctx, client.Call{Method: http.MethodPost, Path: "/v1/doctor"})
	if err != nil {
		return nil, err
	}

	for {
		found, err := client.Decode[shape.Doctor](answer)
		if err != nil || answered(found) || time.Now().After(deadline) {
			return answer, err
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(examinationPause):
		}

		if answer, err = c.Get(ctx, "/v1/doctor", nil); err != nil {
			return nil, err
		}
	}
}

// showExamination writes a line for each check, and then what to do about each failed one.
func showExamination(cmd *cobra.Command, e shape.Doctor) error {
	rows := [][]string{{"PROCESS", "SYSTEM", "STATE", "AS", "DETAIL"}}
	var next []string
	for _, p := range e.Processes {
		process := terminal.Shorten(p.Identity, 24)
		if !p.Answered {
			rows = append(rows, []string{process, "–", "no answer", "", "release " + p.Version})
			next = append(next, p.Identity+": see its log; a process of release 0.1.0 never answers")
			continue
		}

		for _, c := range p.Checks {
			rows = append(
				rows, []string{process, c.System, c.State, shape.Value(c.Account), cmp.Or(c.Detail, shape.Value(c.Code))},
			)
			if c.State != "works" && c.State != "off" {
				next = append(next, p.Identity+" "+c.System+": "+strings.TrimSpace(shape.Value(c.Code)+" "+shape.Value(c.Next)))
			}
		}
	}

	for _, queue := range e.Unserved {
		rows = append(rows, []string{"none", "queues", "missing", "", queue})
		next = append(next, "no process serves the task queue "+queue+": start a worker for it: docs/first-day.md#start")
	}

	if err := terminal.Table(cmd.OutOrStdout(), rows); err != nil {
		return err
	}

	for _, line := range next {
		fmt.Fprintf(cmd.OutOrStdout(), "next: %s\n", terminal.Printable(line))
	}
	return nil
}
