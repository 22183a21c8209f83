package remote

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/devinfo"
	"stagecoach/starter/terminal"
)

// The environment variables for the API's address and the token; flags take precedence. The last one is also a setting
// of the programs: hosts that may be reached over http without a warning.
const (
	envAPI       = "STAGECOACH_API_URL"
	envToken     = "STAGECOACH_TOKEN"
	envPlaintext = "STAGECOACH_PLAINTEXT_HOSTS"
)

// Calling adds the flags for an API and a token to commands and their subcommands.
func Calling(cmds ...*cobra.Command) []*cobra.Command {
	for _, cmd := range cmds {
		flags := cmd.PersistentFlags()
		flags.String("api", "", "address of the API (default $"+envAPI+" or the running go run ./dev)")
		flags.String("token", "", "API token (default $"+envToken+"; the running go run ./dev has its own)")
		flags.String("state", devinfo.DefaultState, "folder of go run ./dev, which holds its address and tokens")
	}
	return cmds
}

// Client makes the client of a command. admin says that the operation is for administrators: the administrator's token
// of go run ./dev is used if there is one.
func Client(cmd *cobra.Command, admin bool) (*client.Client, error) {
	flag := func(name string) string { return cmd.Flag(name).Value.String() }
	address, token := cmp.Or(flag("api"), os.Getenv(envAPI)), cmp.Or(flag("token"), os.Getenv(envToken))
	info, infoErr := devinfo.Read(flag("state"))
	info.API = strings.TrimRight(info.API, "/")

	// Anybody who can write a file into the current folder can name any address in it.
	if address == "" && info.API != "" {
		if flag("token") != "" {
			return nil, terminal.UsageError("--token needs --api or " + envAPI + ": " + info.API + ", from " +
				filepath.Join(flag("state"), devinfo.File) + ", only ever receives its own token")
		}
		if token != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s is ignored for %s, which comes from %s: set %s too\n", envToken,
				terminal.Printable(info.API), filepath.Join(flag("state"), devinfo.File), envAPI)
		}
		address, token = info.API, ""
	}

	c := &client.Client{Base: strings.TrimRight(address, "/"), Token: token}
	if c.Base == "" {
		return nil, &client.Unreachable{Err: fmt.Errorf("the address of the API is unknown: %w", infoErr)}
	}
	u, err := url.Parse(c.Base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, terminal.UsageError("the address of the API is not an http or https URL: " + c.Base)
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
		return nil, terminal.UsageError(
			"the token for " + c.Base + " is missing: give --api and --token, or set " + envAPI + " and " + envToken,
		)
	}

	host := u.Hostname()
	expected := strings.FieldsFunc(os.Getenv(envPlaintext), func(r rune) bool { return r == ',' || r == ' ' })
	if u.Scheme == "http" && host != "localhost" && !net.ParseIP(host).IsLoopback() && !slices.Contains(expected, host) {
		fmt.Fprintf(
			cmd.ErrOrStderr(), "warning: the connection to %s is not encrypted and exposes the token: use https\n", terminal.Printable(host),
		)
	}
	return c, nil
}
