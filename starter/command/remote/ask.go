// Package remote holds what the commands that call the API share: whose API it is, one call, a list, a wait.
package remote

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/terminal"
)

// Ask is a command that makes one call and shows what the API answers.
type Ask[T any] struct {
	As         func() (*client.Client, error) // Target.AsUser or Target.AsAdmin
	Use, Short string
	Args       cobra.PositionalArgs
	Keyed      bool // the command takes an Idempotency-Key
	Call       func(args []string) (client.Call, error)
	Show       func(*cobra.Command, T) error
}

// Command makes the command.
func (a Ask[T]) Command() *cobra.Command {
	var asJSON bool
	var key string
	cmd := &cobra.Command{
		Use: a.Use, Short: a.Short, Args: a.Args,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.As()
			if err != nil {
				return err
			}

			call, err := a.Call(args)
			if err != nil {
				return err
			}
			call.IdempotencyKey = key

			answer, _, err := c.Send(cmd.Context(), call)
			if err != nil {
				return err
			}
			return show(cmd, asJSON, answer, a.Show)
		},
	}

	addJSONFlag(cmd, &asJSON)
	if a.Keyed {
		const usage = "the same key with the same request again gives the first answer (default: none)"
		cmd.Flags().StringVar(&key, "idempotency-key", "", usage)
	}
	return cmd
}

// Get is the call of a command that reads the resource which its first argument names.
func Get(path func(id string) string) func(args []string) (client.Call, error) {
	return func(args []string) (client.Call, error) {
		return client.Call{Method: http.MethodGet, Path: path(args[0])}, nil
	}
}

// Do is a command that makes one call whose answer is empty.
type Do struct {
	As         func() (*client.Client, error)
	Use, Short string
	Args       cobra.PositionalArgs
	Call       func(args []string) client.Call
	Done       func(args []string) string // the sentence that the command prints then
}

// Command makes the command.
func (d Do) Command() *cobra.Command {
	return &cobra.Command{
		Use: d.Use, Short: d.Short, Args: d.Args,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := d.As()
			if err != nil {
				return err
			}
			if _, _, err := c.Send(cmd.Context(), d.Call(args)); err != nil {
				return err
			}

			_, err = fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(d.Done(args)))
			return err
		},
	}
}

func addJSONFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print the API's answer")
}

// show prints an answer of the API as it came, or decodes it for show.
func show[T any](cmd *cobra.Command, asJSON bool, answer []byte, show func(*cobra.Command, T) error) error {
	if asJSON {
		return terminal.Verbatim(cmd.OutOrStdout(), answer)
	}

	value, err := client.Decode[T](answer)
	if err != nil {
		return err
	}
	return show(cmd, value)
}
