// Package account has the commands about users and their API tokens.
package account

import (
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewUser makes the group of commands with which administrators manage users.
func NewUser() *cobra.Command {
	return terminal.Group(&cobra.Command{Use: "user", Short: "Manage users (administrators only)"},
		remote.Ask[shape.User]{
			Admin: true, Use: "add NAME", Short: "Add an active user and show the user's API token once",
			Call: "POST /v1/users", Text: "name",
			Fields: []remote.Field{
				{Flag: "telegram-id", About: "id of the user's Telegram account; required for deliveries"},
				{Flag: "role", Value: account.RoleUser, Always: true, Read: upper, About: "USER or ADMIN"},
			},
			Show: showUser,
		}.Command(),
		remote.List[shape.User]{
			Admin: true, Use: "list", Short: "List users, oldest first",
			Path: "/v1/users",
			Filters: []remote.Filter{{
				Flag: "status", Write: strings.ToUpper, Values: []string{account.UserPending, account.UserActive, account.UserBlocked}, About: "filter by status: PENDING, ACTIVE or BLOCKED",
			}},
			Show: showUsers,
		}.Command(),
		remote.Ask[shape.User]{
			Admin: true, Use: "approve ID", Short: "Give a user access",
			Call: "PATCH /v1/users/{}", Fixed: map[string]any{"status": account.UserActive}, Show: showUser,
		}.Command(),
		remote.Ask[shape.User]{
			Admin: true, Use: "block ID", Short: "Revoke a user's access",
			Call: "PATCH /v1/users/{}", Fixed: map[string]any{"status": account.UserBlocked}, Show: showUser,
		}.Command(),
		remote.Ask[shape.User]{
			Admin: true, Use: "role ID USER|ADMIN", Short: "Change a user's role",
			Call: "PATCH /v1/users/{}",
			Body: func(args []string) (any, error) { return map[string]string{"role": strings.ToUpper(args[1])}, nil },
			Show: showUser,
		}.Command(),
		remote.Ask[shape.User]{
			Admin: true, Use: "forget ID", Short: "Permanently anonymise a user and end the user's running jobs",
			Call: "POST /v1/users/{}/forget", Show: showUser,
		}.Command(),
		remote.Ask[shape.User]{
			Admin: true, Use: "token ID", Short: "Replace the API token that was created with the user",
			Call: "POST /v1/users/{}/token", Show: showUser,
		}.Command(),
		remote.List[shape.Token]{
			Admin: true, Use: "tokens ID", Short: "List a user's API tokens, oldest first",
			Path: "/v1/users/{}/tokens", Show: showTokens,
		}.Command(),
		remote.Do{
			Admin: true, Use: "revoke ID TOKEN", Short: "Revoke a user's API token immediately",
			Call: "DELETE /v1/users/{}/tokens/{}",
			Done: func(args []string) string { return "token " + args[1] + " is revoked" },
		}.Command(),
	)
}

func upper(role any) (any, error) { return strings.ToUpper(role.(string)), nil }

func showUser(cmd *cobra.Command, u shape.User) error {
	if err := showUsers(cmd, []shape.User{u}); err != nil || u.Token == "" {
		return err
	}
	return showSecret(cmd, u.Token)
}

var showUsers = remote.Rows(func(u shape.User) []string {
	return []string{u.ID, u.Name, u.Role, u.Status, shape.Value(u.TelegramID), terminal.When(u.CreatedAt)}
}, "ID", "NAME", "ROLE", "STATUS", "TELEGRAM ID", "SINCE")
