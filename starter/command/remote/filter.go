package remote

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/terminal"
)

// Filter is a flag that becomes a query parameter. Without a value it is not sent.
type Filter struct {
	Flag      string
	Parameter string              // empty: the flag's name, with _ in place of -
	Value     any                 // the default: a string, an int or a bool; nil: empty text
	Write     func(string) string // converts the value for the API; nil: unchanged
	Values    []string            // allowed values, for completion; nil: any
	About     string
}

// completeIDs completes the first argument of a command from the list that its call belongs to, or from another list:
// ids, with names for people. Without such a list the shell completes files, if the command takes one.
func completeIDs(call, list string, admin bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		_, path, _ := strings.Cut(call, " ")
		own, _, found := strings.Cut(path, "/{}")
		if !found || len(args) > 0 {
			if strings.Contains(cmd.Use, "FILE") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := cmp.Or(list, own)
		c, err := Client(cmd, admin)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}

		answer, err := client.Ask[shape.Page[map[string]any]](cmd.Context(), c, client.Call{Method: http.MethodGet, Path: list, Query: url.Values{"limit": {"200"}}})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []string
		for _, one := range answer.Items {
			id := first(one, "id", "hash", "workspace_id")
			if strings.HasPrefix(id, strings.ToLower(begun)) {
				ids = append(ids, id+"\t"+terminal.Printable(first(one, "title", "name", "file_name", "url", "username", "workspace_name")))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// first returns the first of the fields that is present.
func first(fields map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := fields[name].(string); ok {
			return text
		}
	}
	return ""
}

func setFilters(query url.Values, cmd *cobra.Command, filters []Filter) {
	for _, f := range filters {
		value := cmd.Flag(f.Flag).Value.String()
		if value == "" || f.Value == false && value == "false" || f.Value == 0 && value == "0" {
			continue
		}
		if f.Write != nil {
			value = f.Write(value)
		}
		query.Set(cmp.Or(f.Parameter, strings.ReplaceAll(f.Flag, "-", "_")), value)
	}
}
