package config

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
)

func text(into *string, name, def, doc string) Setting {
	return Setting{Name: name, Default: def, Doc: doc, set: func(v string) error { *into = v; return nil }}
}

// listener reads the address of a listener that may be off.
func listener(into *string, name, def, doc string) Setting {
	return Setting{
		Name: name, Default: def, Doc: doc, set: func(v string) error { *into = strings.TrimPrefix(v, "off"); return nil },
	}
}

func secret(into *string, name, doc string) Setting {
	return Setting{Name: name, Doc: doc, Secret: true, set: func(v string) error { *into = v; return nil }}
}

// only is a setting read only by these programs.
func only(programs []Program, s Setting) Setting {
	s.Only = programs
	return s
}

func required(into *string, name, doc string) Setting {
	s := secret(into, name, doc)
	s.Required = true
	s.set = func(v string) error {
		if v == "" {
			return fmt.Errorf("must be set, or %s_FILE must name a file that holds it", name)
		}
		*into = v
		return nil
	}
	return s
}

func boolean(into *bool, name, def, doc string) Setting {
	return Setting{Name: name, Default: def, Doc: doc, set: func(v string) (err error) {
		if *into, err = strconv.ParseBool(v); err != nil {
			return errors.New("must be true or false")
		}
		return nil
	}}
}

func address(into *string, name, def, doc string) Setting {
	return Setting{Name: name, Default: def, Doc: doc, set: func(v string) error {
		u, err := url.Parse(v)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("must be an http or https URL")
		}
		*into = strings.TrimRight(v, "/")
		return nil
	}}
}

func optionalAddress(into *string, name, doc string) Setting {
	s := address(into, name, "", doc)
	set := s.set
	s.set = func(v string) error {
		if v == "" {
			*into = ""
			return nil
		}
		return set(v)
	}
	return s
}

// guarded is an address that must be safe for secrets: see Config.mayCarrySecrets.
func guarded(s Setting, into *string) Setting {
	s.guarded = into
	return s
}

// origin reads an address and keeps its origin, in the browser's sense.
func origin(into *string, name, doc string) Setting {
	s := optionalAddress(into, name, doc)
	set := s.set
	s.set = func(v string) error {
		err := set(v)
		if u, _ := url.Parse(*into); err == nil && v != "" {
			*into = u.Scheme + "://" + u.Host
		}
		return err
	}
	return s
}

func choice(into *string, name, def string, allowed []string, doc string) Setting {
	return Setting{Name: name, Default: def, Doc: doc, set: func(v string) error {
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("must be one of %s", strings.Join(allowed, ", "))
		}
		*into = v
		return nil
	}}
}

func duration(into *time.Duration, name, def string, least, most time.Duration, doc string) Setting {
	return Setting{Name: name, Default: def, Doc: doc, set: func(v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < least || d > most {
			return fmt.Errorf("must be a duration such as 30s or 15m, from %s to %s", least, most)
		}
		*into = d
		return nil
	}}
}

func integer[N int | int64](into *N, name, def string, least, most int64, doc string) Setting {
	return Setting{Name: name, Default: def, Doc: doc, set: func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < least || n > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*into = N(n)
		return nil
	}}
}

// limit reads the most that one user may have or do.
func limit(into *int, name, def, doc string) Setting {
	return integer(into, name, def, 0, 1_000_000, doc+"; 0: no limit")
}

// quota reads how many of a kind one user may have, by the kind's name in store.Parts.
func (c *Config) quota(kind, name, def, doc string) Setting {
	return entry(&c.Limits.Quotas, kind, func(into *int) Setting { return limit(into, name, def, doc) })
}

// days reads a retention in days, by the name of its policy in store.Parts.
func (c *Config) days(policy, name, def, doc string) Setting {
	return entry(&c.Retention, policy, func(into *int) Setting {
		return integer(into, name, def, 0, 36500, "days to keep "+doc+"; 0: for ever")
	})
}

// entry reads a number into a map.
func entry(into *map[string]int, key string, number func(into *int) Setting) Setting {
	var n int
	s := number(&n)
	set := s.set
	s.set = func(v string) error {
		if *into == nil {
			*into = map[string]int{}
		}
		err := set(v)
		(*into)[key] = n
		return err
	}

	return s
}

func number(into *float64, name, def, doc string) Setting {
	return Setting{Name: name, Default: def, Doc: doc, set: func(v string) error {
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || !(n >= 0) {
			return errors.New("must be a number from 0")
		}
		*into = n
		return nil
	}}
}

// words reads a list.
func words(into *[]string, name, doc string) Setting {
	return Setting{Name: name, Doc: doc, set: func(v string) error {
		*into = strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })
		return nil
	}}
}

// networks reads a list of networks and single addresses.
func networks(into *[]netip.Prefix, name, doc string) Setting {
	var list []string
	s := words(&list, name, doc)
	split := s.set
	s.set = func(v string) error {
		*into = nil
		if err := split(v); err != nil {
			return err
		}

		for _, text := range list {
			network, err := netip.ParsePrefix(text)
			if address, single := netip.ParseAddr(text); single == nil {
				network, err = address.Prefix(address.BitLen())
			}
			if err != nil {
				return errors.New("must be addresses or networks such as 10.0.0.0/8, separated by commas")
			}
			*into = append(*into, network.Masked())
		}

		return nil
	}
	return s
}

// queues reads names of task queues.
func queues(into *[]string, name, doc string) Setting {
	s := words(into, name, doc)
	split := s.set
	s.set = func(v string) error {
		if err := split(v); err != nil {
			return err
		}

		for _, queue := range *into {
			if !slices.Contains(lifecycle.Queues(), queue) {
				return fmt.Errorf(
					"must be names of task queues separated by commas: %s", strings.Join(lifecycle.Queues(), ", "),
				)
			}
		}

		return nil
	}

	return s
}

// amount reads TON into nanoTON.
func amount(into *int64, name, def, doc string) Setting {
	return Setting{Name: name, Default: def, Doc: doc, set: func(v string) error {
		n, err := money.ParseTON(v)
		if err != nil {
			return errors.New("must be an amount in GRAM such as 0.05")
		}
		*into = int64(n)
		return nil
	}}
}

func keyInto(into *[]byte) func(string) error {
	return func(v string) error {
		key, err := base64.StdEncoding.DecodeString(v)
		if err != nil || len(key) != 32 {
			return errors.New("must be 32 bytes in base64: make one with `head -c 32 /dev/urandom | base64`")
		}
		*into = key
		return nil
	}
}

// keysInto reads one or more keys; none appears in an error.
func keysInto(into *[][]byte) func(string) error {
	return func(v string) error {
		var keys [][]byte
		for i, text := range strings.FieldsFunc(v, isSeparator) {
			var key []byte
			if err := keyInto(&key)(text); err != nil {
				return fmt.Errorf("key %d %w", i+1, err)
			}
			if bytes.Count(key, []byte{0}) == len(key) {
				return fmt.Errorf("key %d %w", i+1, errSample)
			}
			keys = append(keys, key)
		}

		if len(keys) == 0 {
			return keyInto(new([]byte))(v)
		}

		*into = keys
		return nil
	}
}

func isSeparator(r rune) bool { return r == ',' || unicode.IsSpace(r) }

// adminTokenInto reads a token, which must be long enough to resist guessing.
func adminTokenInto(into *string) func(string) error {
	return func(v string) error {
		if v != "" && utf8.RuneCountInString(v) < adminTokenLength {
			return fmt.Errorf(
				"must have at least %d characters: make one with `head -c 24 /dev/urandom | base64`", adminTokenLength,
			)
		}
		*into = v
		return nil
	}
}

// payloadKeysInto reads pairs of id and key; neither appears in an error.
func payloadKeysInto(into *[]PayloadKey) func(string) error {
	return func(v string) error {
		for i, pair := range strings.FieldsFunc(v, isSeparator) {
			id, text, _ := strings.Cut(pair, ":")
			var key []byte
			if id == "" || len(id) > 64 || keyInto(&key)(text) != nil {
				return fmt.Errorf(
					"entry %d must be an id of up to 64 bytes, a colon and 32 bytes in base64: make them with `head -c 32 /dev/urandom | base64`",
					i+1,
				)
			}
			if slices.ContainsFunc(*into, func(k PayloadKey) bool { return k.ID == id }) {
				return fmt.Errorf("entry %d has the id of one before it", i+1)
			}

			*into = append(*into, PayloadKey{ID: id, Secret: key})
		}

		return nil
	}
}

func isDeploymentName(v string) bool { return v != "" && !strings.ContainsAny(v, ".: \t\n") }
func isBuildID(v string) bool        { return v != "" && !strings.ContainsAny(v, ": \t\n") }

// versionPart reads a part of a worker's version; empty: none.
func versionPart(into *string, name string, good func(string) bool, rule, doc string) Setting {
	return Setting{Name: name, Doc: doc, set: func(v string) error {
		if v != "" && !good(v) {
			return errors.New(rule)
		}
		*into = v
		return nil
	}}
}

func idsInto(into *[]int64, v string) error {
	for _, part := range strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return errors.New("must be whole numbers separated by commas")
		}
		*into = append(*into, id)
	}
	return nil
}
