package command

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Where the API and a token are found when no flag names them.
const (
	envAPI   = "STAGECOACH_API_URL"
	envToken = "STAGECOACH_TOKEN"
)

// target is which API a command talks to, and as whom.
type target struct{ api, token, state string }

// addFlags gives a command, and those below it, the flags of a target.
func (t *target) addFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&t.api, "api", "", "address of the API (default $"+envAPI+", else that of the running dev)")
	flags.StringVar(&t.token, "token", "", "API token (default $"+envToken+", else that of the running dev)")
	flags.StringVar(&t.state, "state", defaultState, "the folder of dev, which holds its address and tokens")
}

// asUser gives a client for what any user may do, asAdmin for what is for administrators.
func (t *target) asUser() (*client, error) {
	return t.client(func(i devInfo) string { return i.UserToken })
}

func (t *target) asAdmin() (*client, error) {
	return t.client(func(i devInfo) string { return i.AdminToken })
}

func (t *target) client(devToken func(devInfo) string) (*client, error) {
	c := &client{base: cmp.Or(t.api, os.Getenv(envAPI)), token: cmp.Or(t.token, os.Getenv(envToken))}
	info, infoErr := readDevInfo(t.state)
	if c.base == "" {
		c.base = info.API
	}
	if c.base == "" {
		return nil, &unreachable{err: fmt.Errorf("no address of an API is known: %w", infoErr)}
	}
	c.base = strings.TrimRight(c.base, "/")
	if u, err := url.Parse(c.base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError{"the address of the API must be an http or https URL, not " + c.base}
	}
	// The tokens of dev are for dev alone: another API must not get to see them.
	if c.token == "" && c.base == info.API {
		c.token = devToken(info)
	}
	if c.token == "" {
		return nil, usageError{"a token is needed for " + c.base + ": give --token or set " + envToken}
	}
	return c, nil
}
