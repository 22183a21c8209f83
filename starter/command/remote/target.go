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

// envAPI and envToken give the API and the token when no flag does.
const (
	envAPI   = "STAGECOACH_API_URL"
	envToken = "STAGECOACH_TOKEN"
)

// Target is the API that a command calls, and the token that it uses.
type Target struct{ api, token, state string }

// AddFlags gives a command, and the commands below it, the flags of a target.
func (t *Target) AddFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&t.api, "api", "", "address of the API (default $"+envAPI+", else that of the running go run ./dev)")
	flags.StringVar(&t.token, "token", "", "API token (default $"+envToken+", else that of the running go run ./dev)")
	flags.StringVar(&t.state, "state", devinfo.DefaultState, "folder of go run ./dev, which holds its address and tokens")
}

// AsUser makes a client for the operations of any user.
func (t *Target) AsUser() (*client.Client, error) {
	return t.client(func(i devinfo.Info) string { return i.UserToken })
}

// AsAdmin makes a client for the operations of administrators.
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
		return nil, &client.Unreachable{Err: fmt.Errorf("the address of the API is unknown: %w", infoErr)}
	}

	c.Base = strings.TrimRight(c.Base, "/")
	if u, err := url.Parse(c.Base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, terminal.UsageError("the address of the API is no http or https URL: " + c.Base)
	}

	// The tokens of go run ./dev are never sent to another API.
	if c.Token == "" && c.Base == info.API {
		c.Token = devToken(info)
	}

	if c.Token == "" {
		return nil, terminal.UsageError("the token for " + c.Base + " is missing: give --token or set " + envToken)
	}
	return c, nil
}
