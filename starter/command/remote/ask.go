// Package remote has what the commands that call the API share: the target, one call, a list, a wait.
package remote

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/terminal"
)

// Ask is a command that makes one call and shows the API's response.
type Ask[T any] struct {
	Admin         bool // an administrators' operation
	Use, Short    string
	Long, Example string
	Keyed         bool // the command takes an Idempotency-Key
	// Call is the method and the path. Each {} in the path is an argument of the command, in lower case, like all ids in
	// the API.
	Call    string
	Query   func(args []string) url.Values // query built from the arguments; nil: none
	Filters []Filter
	// The body has the words after the path's arguments as the field Text, the Fields, and what is Fixed. Body builds it
	// in another way. A last argument with an ellipsis in Use is a text: flags go before all arguments.
	Text    string
	Fields  []Field
	Fixed   map[string]any
	Changes bool // Fields are sent if their flags are given, even empty ones, and at least one is required
	Body    func(args []string) (any, error)
	Waits   string // the flag for how long the API may wait for something; empty: it does not
	// Answer makes the calls instead of Call, where one is not enough.
	Answer  func(ctx context.Context, c *client.Client, args []string) ([]byte, error)
	Show    func(*cobra.Command, T) error
	ShowBy  func(*cobra.Command, *client.Client, T) error // replaces Show, where showing needs further calls
	Verdict func(T) error                                 // the error of a response that reports a failure; nil: none does
}

// Command makes the command.
func (a Ask[T]) Command() *cobra.Command {
	var asJSON bool
	var key string
	isText := strings.Contains(a.Use, "…")
	cmd := &cobra.Command{
		Use: a.Use, Short: a.Short, Long: a.Long, Example: a.Example, Args: terminal.AsUsed,
		ValidArgsFunction: completeIDs(a.Call, "", a.Admin),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := Client(cmd, a.Admin)
			if err != nil {
				return err
			}

			if isText {
				args = terminal.Arguments(cmd, args)
			}
			answer, err := a.answer(cmd, c, args, key)
			if err != nil {
				return err
			}
			return a.show(cmd, c, asJSON, answer)
		},
	}

	if isText {
		terminal.TakeText(cmd)
	}

	for _, f := range a.Filters {
		addFlag(cmd.Flags(), f.Flag, f.Value, f.About)
		if f.Values != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Flag, cobra.FixedCompletions(f.Values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
		}
	}
	for _, f := range a.Fields {
		addFlag(cmd.Flags(), f.Flag, f.Value, f.About)
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the response as JSON")
	if a.Keyed {
		const usage = "repeating a request with the same key returns the first response (default: none)"
		cmd.Flags().StringVar(&key, "idempotency-key", "", usage)
	}
	return cmd
}

func (a Ask[T]) answer(cmd *cobra.Command, c *client.Client, args []string, key string) (answer []byte, err error) {
	if a.Answer != nil {
		return a.Answer(cmd.Context(), c, args)
	}

	call := Call(a.Call, args...)
	call.IdempotencyKey = key
	call.Query = url.Values{}
	if a.Query != nil {
		call.Query = a.Query(args)
	}

	setFilters(call.Query, cmd, a.Filters)

	if call.Body, err = a.body(cmd, args); err != nil {
		return nil, err
	}

	if a.Waits != "" {
		if call.Waits, err = cmd.Flags().GetDuration(a.Waits); err != nil {
			return nil, err
		}
	}

	answer, _, err = c.Send(cmd.Context(), call)
	return answer, err
}

// body builds the body of the call; nil: none.
func (a Ask[T]) body(cmd *cobra.Command, args []string) (any, error) {
	switch {
	case a.Body != nil:
		return a.Body(args)
	case a.Text == "" && a.Fields == nil && a.Fixed == nil:
		return nil, nil
	}

	body := map[string]any{}
	maps.Copy(body, a.Fixed)
	if a.Text != "" {
		body[a.Text] = strings.Join(args[strings.Count(a.Call, "{}"):], " ")
	}

	for _, f := range a.Fields {
		if err := f.addTo(body, cmd, a.Changes); err != nil {
			return nil, err
		}
	}

	if a.Changes && len(body) == 0 {
		return nil, terminal.UsageError("nothing to change: set --" + a.Fields[0].Flag + " or another flag")
	}
	return body, nil
}

// Call builds a call from a method and a path, with the arguments in place of {}.
func Call(what string, args ...string) client.Call {
	for _, arg := range args {
		what = strings.Replace(what, "{}", url.PathEscape(strings.ToLower(arg)), 1)
	}
	method, path, _ := strings.Cut(what, " ")
	return client.Call{Method: method, Path: path}
}

// show prints a response unchanged, or for people, and applies Verdict.
func (a Ask[T]) show(cmd *cobra.Command, c *client.Client, asJSON bool, answer []byte) error {
	value, err := client.Decode[T](answer)
	switch {
	case err != nil:
		return err
	case asJSON:
		err = terminal.Verbatim(cmd.OutOrStdout(), answer)
	case a.ShowBy != nil:
		err = a.ShowBy(cmd, c, value)
	default:
		err = a.Show(cmd, value)
	}

	if err == nil && a.Verdict != nil {
		err = a.Verdict(value)
	}
	return err
}

// List is a command that shows one page of a list.
type List[T any] struct {
	Admin      bool // an administrators' operation
	Use, Short string
	Path       string // like the Call of Ask
	Query      func(args []string) url.Values
	Filters    []Filter
	Show       func(*cobra.Command, []T) error
	ShowBy     func(*cobra.Command, *client.Client, []T) error // like that of Ask
}

// Command makes the command.
func (l List[T]) Command() *cobra.Command {
	return Ask[shape.Page[T]]{
		Admin: l.Admin, Use: l.Use, Short: l.Short, Call: "GET " + l.Path, Query: l.Query,
		Filters: append(l.Filters,
			Filter{Flag: "limit", Value: 50, About: "number of entries, at most 200"},
			Filter{Flag: "cursor", About: "cursor of the next page"},
		),
		ShowBy: func(cmd *cobra.Command, c *client.Client, page shape.Page[T]) (err error) {
			if l.ShowBy != nil {
				err = l.ShowBy(cmd, c, page.Items)
			} else {
				err = l.Show(cmd, page.Items)
			}
			if err == nil && page.NextCursor != nil {
				fmt.Fprintf(cmd.OutOrStdout(), "more: --cursor %s\n", terminal.Printable(*page.NextCursor))
			}
			return err
		},
	}.Command()
}

// Do is a command that makes one call with an empty response.
type Do struct {
	Admin      bool // an administrators' operation
	Use, Short string
	Call       string                     // like that of Ask
	List       string                     // path of the list that completes the argument, if it is not the call's
	Done       func(args []string) string // the sentence that the command prints afterwards
}

// Command makes the command.
func (d Do) Command() *cobra.Command {
	return &cobra.Command{
		Use: d.Use, Short: d.Short, Args: terminal.AsUsed, ValidArgsFunction: completeIDs(d.Call, d.List, d.Admin),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := Client(cmd, d.Admin)
			if err != nil {
				return err
			}
			if _, _, err := c.Send(cmd.Context(), Call(d.Call, args...)); err != nil {
				return err
			}

			_, err = fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(d.Done(args)))
			return err
		},
	}
}
