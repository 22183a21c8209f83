package account

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// token is an API token as the API shows it.
type token struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Scopes     []string   `json:"scopes"`
	ExpiresAt  *time.Time `json:"expires_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	Current    bool       `json:"current"`
	Token      string     `json:"token"` // only in the answer that makes it
}

func NewToken() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{Use: "token", Short: "Look after your API tokens"},
		remote.List(&t, "list", "List your tokens, the oldest first", terminal.Between(0, 0),
			func([]string) string { return "/v1/tokens" }, func() map[string]string { return nil }, showTokens),
		newTokenCreate(&t),
		newTokenRotate(&t),
		newRevocation(
			t.AsUser, "revoke TOKEN", "End a token of yours at once, by its id", 1,
			func(args []string) string { return tokenPath(args[0]) },
		),
	)

	t.AddFlags(cmd)
	return cmd
}

func tokenPath(id string) string { return "/v1/tokens/" + url.PathEscape(id) }

func newTokenCreate(t *remote.Target) *cobra.Command {
	var scopes []string
	var lasts time.Duration
	cmd := remote.Ask(t, "create NAME", "Make a token of yours, and show it this once", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		if len(scopes) == 0 {
			return client.Call{}, terminal.UsageError(
				"say with --scope what it may do: read, files, deliveries, tasks, downloads, webhooks, money, operate, users",
			)
		}
		body := map[string]any{"name": args[0], "scopes": scopes}
		if lasts > 0 {
			body["expires_at"] = time.Now().Add(lasts).UTC().Truncate(time.Second)
		}
		return client.Call{Method: http.MethodPost, Path: "/v1/tokens", Body: body}, nil
	}, showNewToken)

	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "what it may do, at most what your token may; several with commas")
	cmd.Flags().DurationVar(&lasts, "lasts", 0, "how long, such as 720h; 0 is as long as your token")
	return cmd
}

func newTokenRotate(t *remote.Target) *cobra.Command {
	var grace time.Duration
	cmd := remote.Ask(t, "rotate TOKEN", "Give a token of yours another secret, by its id, and show it this once", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		return client.Call{
			Method: http.MethodPost, Path: tokenPath(args[0]) + "/rotate",
			Body: map[string]any{"grace_seconds": int64(grace.Seconds())},
		}, nil
	}, showNewToken)
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long the old secret is good besides the new one")
	return cmd
}

// newRevocation is a command that ends the token at a path; the API answers with nothing.
func newRevocation(
	as func() (*client.Client, error), use, short string, arguments int, path func(args []string) string,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: terminal.Between(arguments, arguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := as()
			if err != nil {
				return err
			}
			if _, _, err := c.Send(cmd.Context(), client.Call{Method: http.MethodDelete, Path: path(args)}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "token %s is revoked\n", terminal.Printable(args[len(args)-1]))
			return err
		},
	}
}

func showTokens(cmd *cobra.Command, tokens []token) error {
	rows := [][]string{{"ID", "NAME", "SCOPES", "ENDS", "LAST USED", ""}}
	for _, t := range tokens {
		current := ""
		if t.Current {
			current = "this one"
		}
		rows = append(
			rows,
			[]string{
				t.ID, t.Name, strings.Join(t.Scopes, ","), terminal.Whenever(t.ExpiresAt), terminal.Whenever(t.LastUsedAt), current,
			},
		)
	}

	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showNewToken(cmd *cobra.Command, t token) error {
	if err := showTokens(cmd, []token{t}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "token (shown this once): %s\n", terminal.Printable(t.Token))
	return err
}
