// Package account has the commands about users and their API tokens.
package account

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func userPath(id string) string { return "/v1/users/" + url.PathEscape(id) }

// NewUser makes the group of commands by which administrators manage users.
func NewUser() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{Use: "user", Short: "Manage users (administrators only)"},
		newUserAdd(&t),
		newUserList(&t),
		newUserChange(&t, "approve ID", "Give a user access", 1, func([]string) map[string]string {
			return map[string]string{"status": account.UserActive}
		}),
		newUserChange(&t, "block ID", "Take a user's access away", 1, func([]string) map[string]string {
			return map[string]string{"status": account.UserBlocked}
		}),
		newUserChange(&t, "role ID USER|ADMIN", "Give a user another role", 2, func(args []string) map[string]string {
			return map[string]string{"role": strings.ToUpper(args[1])}
		}),
		newUserPost(&t, "forget ID", "Make a person anonymous for ever, and end the person's running jobs", "/forget"),
		newUserPost(&t, "token ID", "Replace the API token that was created with a user by a new one", "/token"),
		newUserTokens(&t),
		newUserRevoke(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func newUserAdd(t *remote.Target) *cobra.Command {
	var telegramID, role string
	cmd := remote.Ask[shape.User]{
		As: t.AsAdmin, Use: "add NAME", Short: "Add a user with access, and show the user's API token once",
		Args: terminal.Exactly(1),
		Call: func(args []string) (client.Call, error) {
			body := map[string]string{"name": args[0], "role": strings.ToUpper(role)}
			if telegramID != "" {
				body["telegram_id"] = telegramID
			}
			return client.Call{Method: http.MethodPost, Path: "/v1/users", Body: body}, nil
		},
		Show: showUser,
	}.Command()

	cmd.Flags().StringVar(&telegramID, "telegram-id", "", "id of the user's Telegram account; deliveries need one")
	cmd.Flags().StringVar(&role, "role", account.RoleUser, "USER or ADMIN")
	return cmd
}

func newUserList(t *remote.Target) *cobra.Command {
	var status string
	cmd := remote.List[shape.User]{
		As: t.AsAdmin, Use: "list", Short: "List users, the oldest first", Args: terminal.Exactly(0),
		Query: func([]string) (string, map[string]string) {
			return "/v1/users", map[string]string{"status": strings.ToUpper(status)}
		},
		Show: showUsers,
	}.Command()
	cmd.Flags().StringVar(&status, "status", "", "only those in this status: PENDING, ACTIVE or BLOCKED")
	return cmd
}

// newUserChange is a command that changes fields of a user.
func newUserChange(
	t *remote.Target, use, short string, arguments int, body func(args []string) map[string]string,
) *cobra.Command {
	return remote.Ask[shape.User]{
		As: t.AsAdmin, Use: use, Short: short, Args: terminal.Exactly(arguments),
		Call: func(args []string) (client.Call, error) {
			return client.Call{Method: http.MethodPatch, Path: userPath(args[0]), Body: body(args)}, nil
		},
		Show: showUser,
	}.Command()
}

// newUserPost is a command that posts to a path below a user.
func newUserPost(t *remote.Target, use, short, path string) *cobra.Command {
	return remote.Ask[shape.User]{
		As: t.AsAdmin, Use: use, Short: short, Args: terminal.Exactly(1),
		Call: func(args []string) (client.Call, error) {
			return client.Call{Method: http.MethodPost, Path: userPath(args[0]) + path}, nil
		},
		Show: showUser,
	}.Command()
}

func newUserTokens(t *remote.Target) *cobra.Command {
	return remote.List[shape.Token]{
		As: t.AsAdmin, Use: "tokens ID", Short: "List a user's API tokens, the oldest first", Args: terminal.Exactly(1),
		Query: func(args []string) (string, map[string]string) { return userPath(args[0]) + "/tokens", nil },
		Show:  showTokens,
	}.Command()
}

func newUserRevoke(t *remote.Target) *cobra.Command {
	return remote.Do{
		As: t.AsAdmin, Use: "revoke ID TOKEN", Short: "Revoke a user's API token at once, by their ids",
		Args: terminal.Exactly(2),
		Call: func(args []string) client.Call {
			path := userPath(args[0]) + "/tokens/" + url.PathEscape(args[1])
			return client.Call{Method: http.MethodDelete, Path: path}
		},
		Done: func(args []string) string { return "token " + args[1] + " is revoked" },
	}.Command()
}

func showUser(cmd *cobra.Command, u shape.User) error {
	if err := showUsers(cmd, []shape.User{u}); err != nil || u.Token == "" {
		return err
	}
	return showSecret(cmd, u.Token)
}

func showUsers(cmd *cobra.Command, users []shape.User) error {
	rows := [][]string{{"ID", "NAME", "ROLE", "STATUS", "TELEGRAM ID", "SINCE"}}
	for _, u := range users {
		rows = append(rows, []string{u.ID, u.Name, u.Role, u.Status, shape.Value(u.TelegramID), terminal.When(u.CreatedAt)})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}
