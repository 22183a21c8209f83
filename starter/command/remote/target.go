package remote

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/devinfo"
	"stagecoach/starter/terminal"
)

// Where the API and a token are found when no flag names them.
const (
	envAPI   = "STAGECOACH_API_URL"
	envToken = "STAGECOACH_TOKEN"
)

// Target is which API a command talks to, and as whom.
type Target struct{ api, token, state string }

// AddFlags gives a command, and those below it, the flags of a target.
func (t *Target) AddFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&t.api, "api", "", "address of the API (default $"+envAPI+", else that of the running dev)")
	flags.StringVar(&t.token, "token", "", "API token (default $"+envToken+", else that of the running dev)")
	flags.StringVar(&t.state, "state", devinfo.DefaultState, "the folder of dev, which holds its address and tokens")
}

// AsUser gives a client for what any user may do, AsAdmin for what is for administrators.
func (t *Target) AsUser() (*client.Client, error) {
	return t.client(func(i devinfo.Info) string { return i.UserToken })
}

func (t *Target) AsAdmin() (*client.Client, error) {
	return t.client(func(i devinfo.Info) string { return i.AdminToken })
}

func (t *Target) client(devToken func(devinfo.Info) string) (*client.Client, error) {
	c := &client.Client{Base: cmp.Or(t.api, os.Getenv(envAPI)), Token: cmp.Or(t.token, os.Getenv(envToken))}
	info, infoErr := devinfo.Read(t.state)
	if c.Base == "" {
		c.Base = info.API
	}

	if c.Base == "" {
		return nil, &client.Unreachable{Err: fmt.Errorf("no address of an API is known: %w", infoErr)}
	}

	c.Base = strings.TrimRight(c.Base, "/")
	if u, err := url.Parse(c.Base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, terminal.UsageError("the address of the API must be an http or https URL, not " + c.Base)
	}

	// The tokens of dev are for dev alone: another API must not get to see them.
	if c.Token == "" && c.Base == info.API {
		c.Token = devToken(info)
	}

	if c.Token == "" {
		return nil, terminal.UsageError("a token is needed for " + c.Base + ": give --token or set " + envToken)
	}
	return c, nil
}
