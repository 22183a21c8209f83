package remote

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Field is a flag that becomes a field of the body. Empty ones are not sent.
type Field struct {
	Flag     string
	Name     string // empty: the flag's name, with _ in place of -
	Value    any    // the default, which has the flag's type; nil: empty text. A duration is sent in seconds
	About    string
	Always   bool                         // sent even if it is empty
	Required error                        // the error without the flag; nil: it is optional
	Read     func(value any) (any, error) // converts the value for the API; nil: unchanged
}

// Texts are the default of a repeatable flag that takes one text each time, whatever it contains. With the default
// []string each value may have several words, separated by commas or spaces.
type Texts []string

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
		flags.StringArray(name, usual, about)
	case Texts:
		flags.StringArray(name, usual, about)
	default:
		text, _ := usual.(string)
		flags.String(name, text, about)
	}
}

// valueOf returns the value of a flag, whose type is that of its default.
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
		given, err := flags.GetStringArray(name)
		return Words(given), err
	case Texts:
		given, err := flags.GetStringArray(name)
		return slices.DeleteFunc(given, func(text string) bool { return text == "" }), err
	default:
		return flags.GetString(name)
	}
}

// Words splits a flag's values at commas and spaces.
func Words(values []string) []string {
	return strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// addTo adds the field to a body, unless it is not sent. given: the value is sent as it is if its flag is given.
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
