// Package account has the commands about users and their API tokens.
package account

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/store"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// User is a person or a program as the API shows it.
type User struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	TelegramID string    `json:"telegram_id"`
	Role       string    `json:"role"`
	Status     string    `json:"status"`
	Token      string    `json:"token"` // only in the answer that makes it
	CreatedAt  time.Time `json:"created_at"`
}

func userPath(id string) string { return "/v1/users/" + url.PathEscape(id) }

func NewUser() *cobra.Command {
	var t remote.Target
	change := func(use, short string, most int, body func(args []string) map[string]string) *cobra.Command {
		return userCommand(&t, use, short, most, func(args []string) client.Call {
			return client.Call{Method: http.MethodPatch, Path: userPath(args[0]), Body: body(args)}
		})
	}

	cmd := terminal.Group(&cobra.Command{Use: "user", Short: "Look after users (for administrators)"},
		newUserAdd(&t),
		newUserList(&t),
		change("approve ID", "Let a user in", 1, func([]string) map[string]string {
			return map[string]string{"status": store.UserActive}
		}),
		change("block ID", "Keep a user out", 1, func([]string) map[string]string {
			return map[string]string{"status": store.UserBlocked}
		}),
		change("role ID USER|ADMIN", "Give a user another role", 2, func(args []string) map[string]string {
			return map[string]string{"role": strings.ToUpper(args[1])}
		}),
		userCommand(&t, "forget ID", "Make a person anonymous for good, and end what they have running", 1, func(args []string) client.Call {
			return client.Call{Method: http.MethodPost, Path: userPath(args[0]) + "/forget"}
		}),
		remote.ListAs(t.AsAdmin, "tokens ID", "List a user's API tokens, the oldest first", terminal.Between(1, 1),
			func(args []string) string { return userPath(args[0]) + "/tokens" }, func() map[string]string { return nil }, showTokens),
		newRevocation(t.AsAdmin, "revoke ID TOKEN", "End a user's API token at once, by their ids", 2,
			func(args []string) string { return userPath(args[0]) + "/tokens/" + url.PathEscape(args[1]) }),
		userCommand(&t, "token ID", "Give a user a new API token instead of the one that was made with the user", 1, func(args []string) client.Call {
			return client.Call{Method: http.MethodPost, Path: userPath(args[0]) + "/token"}
		}),
	)

	t.AddFlags(cmd)
	return cmd
}

func newUserAdd(t *remote.Target) *cobra.Command {
	var telegramID, role string
	cmd := userCommand(t, "add NAME", "Add a user, who is active at once, and show the token this once", 1, func(args []string) client.Call {
		body := map[string]string{"name": args[0], "role": strings.ToUpper(role)}
		if telegramID != "" {
			body["telegram_id"] = telegramID
		}
		return client.Call{Method: http.MethodPost, Path: "/v1/users", Body: body}
	})

	cmd.Flags().StringVar(
		&telegramID, "telegram-id", "", "id of the user's Telegram account; without one nothing can be delivered",
	)
	cmd.Flags().StringVar(&role, "role", store.RoleUser, "USER or ADMIN")
	return cmd
}

// userCommand is a command that makes one call with so many arguments and shows the user it answers with.
func userCommand(t *remote.Target, use, short string, arguments int, make func(args []string) client.Call) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: terminal.Between(arguments, arguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.AsAdmin()
			if err != nil {
				return err
			}

			answer, _, err := c.Send(cmd.Context(), make(args))
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.Verbatim(cmd.OutOrStdout(), answer)
			}

			u, err := client.Decode[User](answer)
			if err != nil {
				return err
			}
			if err := showUsers(cmd, []User{u}); err != nil || u.Token == "" {
				return err
			}

			_, err = fmt.Fprintf(cmd.OutOrStdout(), "token (shown this once): %s\n", terminal.Printable(u.Token))
			return err
		},
	}

	cmd.Flags().BoolVar(&asJSON, "json", false, "print the API's answer")
	return cmd
}

func newUserList(t *remote.Target) *cobra.Command {
	var status, cursor string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List users, the oldest first", Args: terminal.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.AsAdmin()
			if err != nil {
				return err
			}

			query := url.Values{"limit": {strconv.Itoa(limit)}}
			remote.SetUnlessEmpty(query, map[string]string{"status": strings.ToUpper(status), "cursor": cursor})
			answer, err := c.Get(cmd.Context(), "/v1/users", query)
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.Verbatim(cmd.OutOrStdout(), answer)
			}

			list, err := client.Decode[client.Page[User]](answer)
			if err != nil {
				return err
			}
			if err := showUsers(cmd, list.Items); err != nil {
				return err
			}

			remote.MentionMore(cmd, list.NextCursor)
			return nil
		},
	}

	cmd.Flags().StringVar(&status, "status", "", "only those who are PENDING, ACTIVE or BLOCKED")
	remote.AddListFlags(cmd, &limit, &cursor, &asJSON)
	return cmd
}

func showUsers(cmd *cobra.Command, users []User) error {
	rows := [][]string{{"ID", "NAME", "ROLE", "STATUS", "TELEGRAM ID", "SINCE"}}
	for _, u := range users {
		rows = append(rows, []string{u.ID, u.Name, u.Role, u.Status, u.TelegramID, terminal.When(u.CreatedAt)})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}
