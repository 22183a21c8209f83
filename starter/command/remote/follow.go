package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/terminal"
)

// followWithout is how long the API may be unavailable while a command follows a job.
const followWithout = 30 * time.Second

// job is a delivery or a download that a command follows to its end.
type job interface{ Ended() bool }

// Follow polls a job until it has ended, passes each reading to see, and returns the last response. It tolerates a
// restarting API.
func Follow[T job](
	ctx context.Context, c *client.Client, path string, every time.Duration, see func(T),
) (last T, answer []byte, err error) {
	answered := time.Now()
	for {
		answer, err = c.Get(ctx, path, nil)
		switch {
		case err == nil:
			answered = time.Now()
			if last, err = client.Decode[T](answer); err != nil {
				return last, nil, err
			}
			see(last)
			if last.Ended() {
				return last, answer, nil
			}
		case !client.Passing(err) || time.Since(answered) > followWithout:
			return last, nil, err
		}

		select {
		case <-ctx.Done():
			return last, nil, ctx.Err()
		case <-time.After(every):
		}
	}
}

// Wait is a command that requests a job: it shows the API's response, and waits for the job's end or explains how to
// check it.
type Wait[T job] struct {
	Wait, AsJSON bool
	Call         client.Call                      // the request for the job
	Asked        func(now T, existed bool) string // the line about the response; existed: it is an earlier job
	ID           func(T) string
	Jobs         string // path of all jobs in the API
	Every        time.Duration
	Show         string         // the command that shows a job
	State        func(T) string // as the record spells it
	Change       func(T) string // a log line about a state change
	Progress     func(T) string // a line within the width of a screen
	// Failure returns nil for a job that ended successfully.
	Failure func(T) error
}

// Run requests the job and ends the command.
func (w Wait[T]) Run(cmd *cobra.Command, c *client.Client) error {
	answer, status, err := c.Send(cmd.Context(), w.Call)
	if err != nil {
		return err
	}

	now, err := client.Decode[T](answer)
	if err != nil {
		return err
	}

	out := cmd.OutOrStdout()
	if !w.AsJSON {
		fmt.Fprintln(out, w.Asked(now, status != http.StatusCreated))
	}

	show := w.Show + " " + w.ID(now)
	if w.Wait {
		now, answer, err = w.watch(cmd, c, w.Jobs+w.ID(now))
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("no longer waiting, the job continues: check it with %s", show)
		}
		if err != nil {
			return err
		}
	}

	switch {
	case w.AsJSON:
		err = terminal.Verbatim(out, answer)
	case !w.Wait:
		fmt.Fprintf(out, "see its progress: %s\n", show)
	}

	if err != nil || !w.Wait {
		return err
	}
	return w.Failure(now)
}

// watch follows the job with a line for each change and, where the output is a terminal, its progress below. With
// AsJSON it shows nothing.
func (w Wait[T]) watch(cmd *cobra.Command, c *client.Client, path string) (T, []byte, error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt) // ends the waiting, not the job
	defer stop()

	if w.AsJSON {
		return Follow(ctx, c, path, w.Every, func(T) {})
	}

	screen := terminal.NewScreen(cmd.OutOrStdout())
	seen := ""
	return Follow(ctx, c, path, w.Every, func(now T) {
		if now.Ended() || !screen.Live && w.State(now) != seen {
			screen.Draw()
			screen.Say("%s", w.Change(now))
		} else {
			screen.Draw(w.Progress(now))
		}
		seen = w.State(now)
	})
}
