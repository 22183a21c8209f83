// Package cliext replaces the module of this name, which the temporal CLI needs and the module proxy does not have. It
// supports what a client of a development server uses: no TLS, no keys, no sign-in.
package cliext

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FlagDuration is a duration flag. It accepts days besides the units of time.ParseDuration.
type FlagDuration time.Duration

// Duration is the value.
func (d FlagDuration) Duration() time.Duration { return time.Duration(d) }

func (d *FlagDuration) String() string { return d.Duration().String() }

// Type names the values.
func (*FlagDuration) Type() string { return "duration" }

// Set reads the value.
func (d *FlagDuration) Set(text string) error {
	value, err := ParseFlagDuration(text)
	if err == nil {
		*d = FlagDuration(value)
	}
	return err
}

// ParseFlagDuration parses a duration such as 1d12h.
func ParseFlagDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}

	number, err := strconv.Atoi(days)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration", text)
	}

	value := time.Duration(number) * 24 * time.Hour
	if rest == "" {
		return value, nil
	}
	part, err := time.ParseDuration(rest)
	return value + part, err
}

// MustParseFlagDuration parses a constant of the program.
func MustParseFlagDuration(text string) FlagDuration {
	value, err := ParseFlagDuration(text)
	if err != nil {
		panic(err)
	}
	return FlagDuration(value)
}

// FlagTimestamp is a time flag, in RFC 3339.
type FlagTimestamp time.Time

// Time is the value.
func (t FlagTimestamp) Time() time.Time { return time.Time(t) }

func (t *FlagTimestamp) String() string { return t.Time().Format(time.RFC3339) }

// Type names the values.
func (*FlagTimestamp) Type() string { return "timestamp" }

// Set reads the value.
func (t *FlagTimestamp) Set(text string) error {
	value, err := time.Parse(time.RFC3339, text)
	if err == nil {
		*t = FlagTimestamp(value)
	}
	return err
}

// FlagStringEnum is a flag whose value is one of several words.
type FlagStringEnum struct {
	Allowed            []string
	Value              string
	ChangedFromDefault bool
}

// NewFlagStringEnum makes a flag with a default.
func NewFlagStringEnum(allowed []string, value string) FlagStringEnum {
	return FlagStringEnum{Allowed: allowed, Value: value}
}

func (s *FlagStringEnum) String() string { return s.Value }

// Type names the values.
func (*FlagStringEnum) Type() string { return "string" }

// Set reads the value.
func (s *FlagStringEnum) Set(text string) (err error) {
	s.Value, err = oneOf(s.Allowed, text)
	s.ChangedFromDefault = err == nil
	return err
}

// FlagStringEnumArray is a flag whose values are among several words.
type FlagStringEnumArray struct {
	Allowed []string
	Values  []string
}

// NewFlagStringEnumArray makes a flag with a default.
func NewFlagStringEnumArray(allowed, values []string) FlagStringEnumArray {
	return FlagStringEnumArray{Allowed: allowed, Values: values}
}

func (s *FlagStringEnumArray) String() string { return strings.Join(s.Values, ",") }

// Type names the values.
func (*FlagStringEnumArray) Type() string { return "string" }

// Set adds a value.
func (s *FlagStringEnumArray) Set(text string) error {
	value, err := oneOf(s.Allowed, text)
	if err == nil {
		s.Values = append(s.Values, value)
	}
	return err
}

func oneOf(allowed []string, text string) (string, error) {
	at := slices.IndexFunc(allowed, func(word string) bool { return strings.EqualFold(word, text) })
	if at < 0 {
		return "", errors.New("use one of " + strings.Join(allowed, ", "))
	}
	return allowed[at], nil
}
