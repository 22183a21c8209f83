package account

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewToken makes the group of commands about the caller's own tokens.
func NewToken() *cobra.Command {
	return terminal.Group(&cobra.Command{Use: "token", Short: "Manage your API tokens"},
		remote.List[shape.Token]{
			Use: "list", Short: "List your tokens, oldest first",
			Path: "/v1/tokens", Show: showTokens,
		}.Command(),
		remote.Ask[shape.Token]{
			Use: "create NAME", Short: "Create a token and show its secret once",
			Call: "POST /v1/tokens", Text: "name", Fields: tokenFields, Show: showNewToken,
		}.Command(),
		remote.Ask[shape.Token]{
			Use: "rotate TOKEN", Short: "Give one of your tokens a new secret and show it once",
			Call: "POST /v1/tokens/{}/rotate",
			Fields: []remote.Field{{
				Flag: "grace", Name: "grace_seconds", Value: time.Duration(0), Always: true,
				About: "how long the old secret stays valid alongside the new one",
			}},
			Show: showNewToken,
		}.Command(),
		remote.Ask[shape.Descendants]{
			Use: "made TOKEN", Short: "List what a token has created and what ends with it",
			Call: "GET /v1/tokens/{}/descendants", Show: showDescendants,
		}.Command(),
		remote.Do{
			Use: "revoke TOKEN", Short: "Revoke one of your tokens immediately, with everything it created",
			Call: "DELETE /v1/tokens/{}",
			Done: func(args []string) string { return "token " + args[0] + " is revoked" },
		}.Command(),
	)
}

var errNoScope = terminal.UsageError("--scope is missing: give one or more of " + terminal.Join(account.Scopes))

// tokenFields describe a new token.
var tokenFields = []remote.Field{
	{
		Flag: "scope", Name: "scopes", Value: []string(nil), Required: errNoScope,
		About: "scopes of the token, no more than your own; comma-separated",
	},
	{
		Flag: "lasts", Name: "expires_at", Value: time.Duration(0),
		About: "how long the token is valid, such as 720h (0: as long as yours)",
		Read: func(lasts any) (any, error) {
			return time.Now().Add(lasts.(time.Duration)).UTC().Truncate(time.Second), nil
		},
	},
}

var showTokens = remote.Rows(func(t shape.Token) []string {
	current := ""
	if t.Current {
		current = "this one"
	}
	return []string{
		t.ID, t.Name, strings.Join(t.Scopes, ","),
		terminal.When(shape.Value(t.ExpiresAt)), terminal.When(shape.Value(t.LastUsedAt)), current,
	}
}, "ID", "NAME", "SCOPES", "EXPIRES", "LAST USED", "")

// showDescendants shows how much ends with a token, and lists it.
func showDescendants(cmd *cobra.Command, d shape.Descendants) error {
	out := cmd.OutOrStdout()
	if _, err := fmt.Fprintf(
		out, "tokens: %d, agents: %d, webhooks: %d; they end with the token\n", d.Tokens, d.Agents, d.Webhooks,
	); err != nil {
		return err
	}
	if d.Users > 0 {
		if _, err := fmt.Fprintf(out, "users: %d; they stay: block any that should not have access\n", d.Users); err != nil {
			return err
		}
	}

	if len(d.Items) == 0 {
		return nil
	}
	return showDescendantItems(cmd, d.Items)
}

var showDescendantItems = remote.Rows(func(d shape.Descendant) []string {
	return []string{d.Kind, d.ID, d.Name, d.UserID}
}, "KIND", "ID", "NAME", "USER")

func showNewToken(cmd *cobra.Command, t shape.Token) error {
	if err := showTokens(cmd, []shape.Token{t}); err != nil {
		return err
	}
	return showSecret(cmd, t.Token)
}

// showSecret prints the secret of a token, which only the creating call returns.
func showSecret(cmd *cobra.Command, secret string) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "token (shown only once): %s\n", terminal.Printable(secret))
	return err
}
