package remote

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

// Filter is a flag that becomes a parameter of the query. One without a value is not sent.
type Filter struct {
	Flag      string
	Parameter string              // empty: the flag's name, with _ in place of -
	Value     any                 // the default: a string, an int or a bool; nil: no text
	Write     func(string) string // how the API spells the value; nil: unchanged
	About     string
}

func addFilters(cmd *cobra.Command, filters []Filter) {
	for _, f := range filters {
		addFlag(cmd.Flags(), f.Flag, f.Value, f.About)
	}
}

func setFilters(query url.Values, cmd *cobra.Command, filters []Filter) {
	for _, f := range filters {
		value := cmd.Flag(f.Flag).Value.String()
		if value == "" || f.Value == false && value == "false" {
			continue
		}
		if f.Write != nil {
			value = f.Write(value)
		}
		query.Set(cmp.Or(f.Parameter, strings.ReplaceAll(f.Flag, "-", "_")), value)
	}
}
