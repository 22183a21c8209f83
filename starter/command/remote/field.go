package remote

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Field is a flag that becomes a field of the body. One that is empty is not sent.
type Field struct {
	Flag     string
	Name     string // empty: the flag's name, with _ in place of -
	Value    any    // the default, which has the flag's type; nil: no text. A duration is sent in seconds
	About    string
	Always   bool                         // it is sent also when it is empty
	Required error                        // of a command line without it; nil: it may be left out
	Read     func(value any) (any, error) // how the API writes the value; nil: unchanged
}

// addFlag adds a flag with the type of its default.
func addFlag(flags *pflag.FlagSet, name string, usual any, about string) {
	switch usual := usual.(type) {
	case bool:
		flags.Bool(name, usual, about)
	case int:
		flags.Int(name, usual, about)
	case int64:
		flags.Int64(name, usual, about)
	case float64:
		flags.Float64(name, usual, about)
	case time.Duration:
		flags.Duration(name, usual, about)
	case []string:
		flags.StringSlice(name, usual, about)
	default:
		text, _ := usual.(string)
		flags.String(name, text, about)
	}
}

// valueOf gives the value of a flag, whose type is that of its default.
func valueOf(flags *pflag.FlagSet, name string, usual any) (value any, err error) {
	switch usual.(type) {
	case bool:
		return flags.GetBool(name)
	case int64:
		return flags.GetInt64(name)
	case float64:
		return flags.GetFloat64(name)
	case time.Duration:
		return flags.GetDuration(name)
	case []string:
		return flags.GetStringSlice(name)
	default:
		return flags.GetString(name)
	}
}

// addTo adds the field to a body, unless it is not sent. given: it is sent as it is when its flag is given.
func (f Field) addTo(body map[string]any, cmd *cobra.Command, given bool) error {
	value, err := valueOf(cmd.Flags(), f.Flag, f.Value)
	if err != nil {
		return err
	}

	isEmpty := reflect.ValueOf(value).IsZero() || reflect.DeepEqual(value, []string{})
	if isEmpty && f.Required != nil {
		return f.Required
	}
	if given && !cmd.Flags().Changed(f.Flag) || !given && isEmpty && !f.Always {
		return nil
	}

	if f.Read != nil {
		if value, err = f.Read(value); err != nil {
			return err
		}
	} else if lasts, ok := value.(time.Duration); ok {
		value = int64(lasts / time.Second)
	}

	body[cmp.Or(f.Name, strings.ReplaceAll(f.Flag, "-", "_"))] = value
	return nil
}
