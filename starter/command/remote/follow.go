package remote

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/terminal"
)

// followWithout is how long an API may be away while somebody waits for a job.
const followWithout = 30 * time.Second

// followed is a job whose way to its end somebody watches.
type followed interface {
	Ended() bool
	Stage() string      // where it is, as the record spells it
	ChangeLine() string // what a log gets to read when that changes
}

// Follow looks at a job until it has ended, shows each look to see, and gives the last answer. It bears an API that
// restarts.
func Follow[T followed](
	ctx context.Context, c *client.Client, path string, every time.Duration, see func(T),
) (last T, answer []byte, err error) {
	heard := time.Now()
	for {
		answer, err = c.Get(ctx, path, nil)
		if err == nil {
			heard = time.Now()
			if last, err = client.Decode[T](answer); err != nil {
				return last, nil, err
			}
			see(last)
			if last.Ended() {
				return last, answer, nil
			}
		} else if !client.Passing(err) || time.Since(heard) > followWithout {
			return last, nil, err
		}

		select {
		case <-ctx.Done():
			return last, nil, ctx.Err()
		case <-time.After(every):
		}
	}
}

// Watch follows a job to its end before the eyes of a person: a line for each change, and where the output is a
// terminal the progress below. quiet shows nothing.
func Watch[T followed](
	cmd *cobra.Command, c *client.Client, path string, every time.Duration, quiet bool, progress func(T) string,
) (T, []byte, error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt) // ends the waiting, not the job
	defer stop()

	if quiet {
		return Follow(ctx, c, path, every, func(T) {})
	}

	screen := terminal.NewScreen(cmd.OutOrStdout())
	seen := ""
	return Follow(ctx, c, path, every, func(job T) {
		if job.Ended() || !screen.Live && job.Stage() != seen {
			screen.Draw()
			screen.Say("%s", job.ChangeLine())
		} else {
			screen.Draw(progress(job))
		}
		seen = job.Stage()
	})
}
