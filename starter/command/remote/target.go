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

// envAPI and envToken name the variables of the API and the token; flags come first.
const (
	envAPI   = "STAGECOACH_API_URL"
	envToken = "STAGECOACH_TOKEN"
)

// Calling adds the flags for an API and a token to commands, and to the commands below them.
func Calling(cmds ...*cobra.Command) []*cobra.Command {
	const dev = "of the running go run ./dev)"
	for _, cmd := range cmds {
		flags := cmd.PersistentFlags()
		flags.String("api", "", "address of the API (default $"+envAPI+", else that "+dev)
		flags.String("token", "", "API token (default $"+envToken+", else that "+dev)
		flags.String("state", devinfo.DefaultState, "folder of go run ./dev, which holds its address and tokens")
	}
	return cmds
}

// Client makes the client of a command. admin says that the operation is one of administrators: the administrator's
// token of go run ./dev is used where it is given.
func Client(cmd *cobra.Command, admin bool) (*client.Client, error) {
	flag := func(name string) string { return cmd.Flag(name).Value.String() }
	c := &client.Client{Base: cmp.Or(flag("api"), os.Getenv(envAPI)), Token: cmp.Or(flag("token"), os.Getenv(envToken))}
	info, infoErr := devinfo.Read(flag("state"))
	c.Base = strings.TrimRight(cmp.Or(c.Base, info.API), "/")
	if c.Base == "" {
		return nil, &client.Unreachable{Err: fmt.Errorf("the address of the API is unknown: %w", infoErr)}
	}
	if u, err := url.Parse(c.Base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, terminal.UsageError("the address of the API is no http or https URL: " + c.Base)
	}

	// The tokens of go run ./dev are never sent to another API.
	switch {
	case c.Token != "":
	case c.Base == info.API && admin:
		c.Token = info.AdminToken
	case c.Base == info.API:
		c.Token = info.UserToken
	}

	if c.Token == "" {
		return nil, terminal.UsageError("the token for " + c.Base + " is missing: give --token or set " + envToken)
	}
	return c, nil
}
