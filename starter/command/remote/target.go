package remote

import (
	"cmp"
	"errors"
	"fmt"
	"io"
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

// The variables of the address of the API and of the token; flags come first. The last one also is a setting of the
// programs, and names hosts that may be reached by http without a warning.
const (
	envAPI       = "STAGECOACH_API_URL"
	envToken     = "STAGECOACH_TOKEN"
	envPlaintext = "STAGECOACH_PLAINTEXT_HOSTS"
)

// Calling adds the flags for an API and a token to commands, and to the commands below them.
func Calling(cmds ...*cobra.Command) []*cobra.Command {
	for _, cmd := range cmds {
		flags := cmd.PersistentFlags()
		flags.String("api", "", "address of the API (default $"+envAPI+", else that of the running go run ./dev)")
		flags.String("token", "", "API token (default $"+envToken+"; the running go run ./dev has its own)")
		flags.String("state", devinfo.DefaultState, "folder of go run ./dev, which holds its address and tokens")
	}
	return cmds
}

// Client makes the client of a command. admin says that the operation is one of administrators: the administrator's
// token of go run ./dev is used where it is given.
func Client(cmd *cobra.Command, admin bool) (*client.Client, error) {
	flag := func(name string) string { return cmd.Flag(name).Value.String() }
	address, token := cmp.Or(flag("api"), os.Getenv(envAPI)), cmp.Or(flag("token"), os.Getenv(envToken))
	info, infoErr := devinfo.Read(flag("state"))
	info.API = strings.TrimRight(info.API, "/")

	// Whoever can write a file into the present folder may name any address in it.
	if address == "" && info.API != "" {
		if flag("token") != "" {
			return nil, terminal.UsageError("--token needs --api or " + envAPI + ": no other token than its own is sent to " +
				info.API + ", which " + filepath.Join(flag("state"), devinfo.File) + " names")
		}
		if token != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s is not used for %s, which %s names: set %s too\n", envToken,
				terminal.Printable(info.API), filepath.Join(flag("state"), devinfo.File), envAPI)
		}
		address, token = info.API, ""
	}

	c := &client.Client{Base: strings.TrimRight(address, "/"), Token: token}
	if c.Base == "" {
		return nil, &client.Unreachable{Err: fmt.Errorf("the address of the API is unknown: %w", infoErr)}
	}
	u, err := parseAddress(c.Base)
	if err != nil {
		return nil, err
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

	warnOfPlaintext(cmd.ErrOrStderr(), u)
	return c, nil
}

func parseAddress(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err == nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		err = errors.New("another scheme, or no host")
	}
	if err != nil {
		return nil, terminal.UsageError("the address of the API is no http or https URL: " + base)
	}
	return u, nil
}

// warnOfPlaintext warns of an address at which others can read the token on its way.
func warnOfPlaintext(w io.Writer, u *url.URL) {
	host := u.Hostname()
	ip := net.ParseIP(host)
	expected := strings.FieldsFunc(os.Getenv(envPlaintext), func(r rune) bool { return r == ',' || r == ' ' })
	if u.Scheme == "https" || host == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(expected, host) {
		return
	}
	fmt.Fprintf(w, "warning: the token and the answers can be read on the way to %s: use https\n", terminal.Printable(host))
}
