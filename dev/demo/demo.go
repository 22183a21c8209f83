// Package demo shows each workload at work on a running stack, as its users and administrators would see it.
package demo

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"stagecoach/api/client"
	"stagecoach/dev/stack"
	"stagecoach/starter/terminal"
)

// demoEvery is the pause between two rounds of a demo.
const demoEvery = 500 * time.Millisecond

// demo shows one workload. A new workload adds one to Show.
type demo interface {
	// round does the current work as a user of the API: it creates entities, shows their progress until the last
	// one has ended, and returns how each ended. With nothing to do it returns immediately.
	round(ctx context.Context) ([]result, error)
}

// result is how one entity of a demo ended.
type result struct {
	job      string // kind and id: "delivery 7"
	name     string
	state    string
	took     time.Duration
	workflow string // its id; empty when none was started
	earlier  bool   // it had ended before this run began
	problem  string // why this is not how it should have ended; empty: it is
}

// Options say what is shown.
type Options struct {
	Once  bool // one round of each demo, which is judged
	Quiet bool // no scene afterwards
}

// Show runs rounds until ctx is done, or one round of each demo and judges it. After the first round a scene continues.
func Show(ctx context.Context, s *stack.Stack, o Options) error {
	team := newTeam(s)
	all := []demo{newDropFolder(s, o.Once), team, newLibrary(s), newCustomers(s)}
	ctx, end := context.WithCancel(ctx)
	var playing sync.WaitGroup
	defer playing.Wait()
	defer end()

	for first := true; ; first = false {
		var results []result
		for _, d := range all {
			ended, err := d.round(ctx)
			if err != nil {
				return err
			}
			results = append(results, ended...)
		}

		if err := showResults(s, results); err != nil {
			return err
		}
		if o.Once {
			return judge(s, results)
		}
		if first && !o.Quiet {
			s.Screen.Say("  An agent, a slow download, deliveries and purchases continue from here; --quiet skips them.\n")
			scene := &scene{stack: s, api: &client.Client{Base: s.Info.API, Token: s.Info.UserToken}, agents: team.crew}
			playing.Go(func() { scene.play(ctx) })
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(demoEvery):
		}
	}
}

// showResults writes the table of a round. Entities that an earlier run has completed are only counted.
func showResults(s *stack.Stack, results []result) error {
	rows := [][]string{{"  JOB", "WHAT", "STATE", "TOOK", "WORKFLOW"}}
	before := 0
	for _, r := range results {
		if r.earlier && r.problem == "" {
			before++
			continue
		}

		link := "–"
		if r.workflow != "" {
			link = s.Info.WebUI + "/namespaces/default/workflows/" + url.PathEscape(r.workflow)
		}

		rows = append(
			rows, []string{"  " + r.job, terminal.Shorten(terminal.Printable(r.name), 40), r.state, terminal.Took(r.took), link},
		)
	}

	if before > 0 {
		s.Screen.Say("  already done by an earlier run: %d", before)
	}

	if len(rows) == 1 {
		return nil
	}

	s.Screen.Say("")
	if err := terminal.Table(s.Screen.Out, rows); err != nil {
		return err
	}

	s.Screen.Say("")
	for _, r := range results {
		if r.problem != "" {
			s.Screen.Say("  %s, %s: %s", r.job, terminal.Printable(r.name), terminal.Printable(r.problem))
		}
	}
	return nil
}

// judge reports whether everything ended as it should.
func judge(s *stack.Stack, results []result) error {
	bad := 0
	for _, r := range results {
		if r.problem != "" {
			bad++
		}
	}

	if bad > 0 {
		return fmt.Errorf(
			"%d of %d did not end as expected: see above, and the logs in %s", bad, len(results), s.Shown(s.LogDir()),
		)
	}

	s.Screen.Say("  All %d ended as expected.\n", len(results))
	return nil
}
