package account

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewToken makes the group of commands about the caller's own tokens.
func NewToken() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{Use: "token", Short: "Manage your API tokens"},
		remote.List[shape.Token]{
			As: t.AsUser, Use: "list", Short: "List your tokens, the oldest first", Args: terminal.Exactly(0),
			Query: func([]string) (string, map[string]string) { return "/v1/tokens", nil },
			Show:  showTokens,
		}.Command(),
		newTokenCreate(&t),
		newTokenRotate(&t),
		remote.Do{
			As: t.AsUser, Use: "revoke TOKEN", Short: "Revoke a token of yours at once, by its id", Args: terminal.Exactly(1),
			Call: func(args []string) client.Call {
				return client.Call{Method: http.MethodDelete, Path: tokenPath(args[0])}
			},
			Done: func(args []string) string { return "token " + args[0] + " is revoked" },
		}.Command(),
	)

	t.AddFlags(cmd)
	return cmd
}

func tokenPath(id string) string { return "/v1/tokens/" + url.PathEscape(id) }

func newTokenCreate(t *remote.Target) *cobra.Command {
	var scopes []string
	var lasts time.Duration
	cmd := remote.Ask[shape.Token]{
		As: t.AsUser, Use: "create NAME", Short: "Create a token of yours, and show its secret once", Args: terminal.Exactly(1),
		Call: func(args []string) (client.Call, error) {
			if len(scopes) == 0 {
				return client.Call{}, errNoScope
			}

			body := map[string]any{"name": args[0], "scopes": scopes}
			if lasts > 0 {
				body["expires_at"] = time.Now().Add(lasts).UTC().Truncate(time.Second)
			}
			return client.Call{Method: http.MethodPost, Path: "/v1/tokens", Body: body}, nil
		},
		Show: showNewToken,
	}.Command()

	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "what the token may do, at most what yours may; separated by commas")
	cmd.Flags().DurationVar(&lasts, "lasts", 0, "how long the token is valid, such as 720h; 0: as long as yours")
	return cmd
}

const errNoScope = terminal.UsageError("--scope is missing: give one or more of " +
	"read, files, deliveries, tasks, downloads, webhooks, money, operate, users")

func newTokenRotate(t *remote.Target) *cobra.Command {
	var grace time.Duration
	cmd := remote.Ask[shape.Token]{
		As: t.AsUser, Use: "rotate TOKEN", Short: "Give a token of yours a new secret, by its id, and show it once",
		Args: terminal.Exactly(1),
		Call: func(args []string) (client.Call, error) {
			body := map[string]any{"grace_seconds": int64(grace.Seconds())}
			return client.Call{Method: http.MethodPost, Path: tokenPath(args[0]) + "/rotate", Body: body}, nil
		},
		Show: showNewToken,
	}.Command()
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long the old secret stays valid besides the new one")
	return cmd
}

func showTokens(cmd *cobra.Command, tokens []shape.Token) error {
	rows := [][]string{{"ID", "NAME", "SCOPES", "EXPIRES", "LAST USED", ""}}
	for _, t := range tokens {
		current := ""
		if t.Current {
			current = "this one"
		}
		rows = append(rows, []string{
			t.ID, t.Name, strings.Join(t.Scopes, ","),
			terminal.Whenever(t.ExpiresAt), terminal.Whenever(t.LastUsedAt), current,
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showNewToken(cmd *cobra.Command, t shape.Token) error {
	if err := showTokens(cmd, []shape.Token{t}); err != nil {
		return err
	}
	return showSecret(cmd, t.Token)
}

// showSecret prints the secret of a token, which the API gives only in the answer that creates it.
func showSecret(cmd *cobra.Command, secret string) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "token (shown only once): %s\n", terminal.Printable(secret))
	return err
}
