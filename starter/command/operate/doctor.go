package operate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/internal/operations/doctor"
	"stagecoach/starter/terminal"
)

// errNotConnected is the error of an examination in which a system does not work.
var errNotConnected = errors.New("not everything that is configured works: follow the lines that begin with next")

// NewDoctor makes the command that checks what a program can reach. It is not a client of the API: it runs where the
// program runs, because only there are the program's settings and secrets.
func NewDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor PROGRAM", Args: terminal.AsUsed, ValidArgs: []string{string(config.ForWorker), string(config.ForAPI)},
		Short: "Check which systems a worker or an API can reach, and as which account",
		Long: `Check which systems a worker or an API can reach, and as which account.

PROGRAM is worker or api. Run it with the settings of that program, for instance in its container: it
checks every configured system with the configured credentials. It renews no token and starts no
purchase: what only these would show is "unverified". Exit code 0 means that everything that is
configured works.`,
		Example: "  docker compose exec worker starter doctor worker",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := examine(cmd, config.Program(args[0]))
			if err != nil {
				return err
			}

			show := showExamination
			if asJSON {
				show = writeExamination
			}

			if err := show(cmd, found); err != nil {
				return err
			}
			if !found.Works {
				return errNotConnected
			}
			return nil
		},
	}

	cmd.Flags().BoolVar(&asJSON, "json", false, "print the response as JSON")
	return cmd
}

// examine checks what a program needs, with the settings of this environment.
func examine(cmd *cobra.Command, program config.Program) (shape.Examination, error) {
	if !slices.Contains([]config.Program{config.ForWorker, config.ForAPI}, program) {
		return shape.Examination{}, terminal.UsageError("PROGRAM must be worker or api")
	}

	c, err := config.LoadFor(program, os.LookupEnv)
	if err != nil {
		return shape.Examination{}, terminal.UsageError(err.Error())
	}

	found, err := app.Examine(cmd.Context(), program, c)
	return shape.Examination{Works: doctor.Works(found), Checks: shape.List(found, checkFrom)}, err
}

func checkFrom(r doctor.Result) shape.Check {
	return shape.Check{
		System: r.System, State: string(r.State), Account: shape.Optional(r.Account), Detail: r.Detail,
		Code: shape.Optional(string(r.Code)), Next: shape.Optional(r.Next),
	}
}

func writeExamination(cmd *cobra.Command, e shape.Examination) error {
	document, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return terminal.Verbatim(cmd.OutOrStdout(), document)
}

// showExamination writes a line for each check, followed by advice about each failed one.
func showExamination(cmd *cobra.Command, e shape.Examination) error {
	rows := [][]string{{"SYSTEM", "STATE", "AS", "DETAIL"}}
	var next []string
	for _, c := range e.Checks {
		rows = append(rows, []string{c.System, c.State, shape.Value(c.Account), cmp.Or(c.Detail, shape.Value(c.Code))})
		if c.State != string(doctor.StateWorks) && c.State != string(doctor.StateOff) {
			next = append(next, c.System+": "+strings.TrimSpace(shape.Value(c.Code)+" "+shape.Value(c.Next)))
		}
	}

	if err := terminal.Table(cmd.OutOrStdout(), rows); err != nil {
		return err
	}

	for _, line := range next {
		fmt.Fprintf(cmd.OutOrStdout(), "next: %s\n", terminal.Printable(line))
	}
	return nil
}
