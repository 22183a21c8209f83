package delivery

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/fault"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// File is an entry of the shared folder as the API shows it.
type File struct {
	FileID     string    `json:"file_id"`
	Name       string    `json:"name"`
	Kind       string    `json:"kind"` // "file" or "folder"
	Path       string    `json:"path"`
	Size       int64     `json:"size"`
	ModifiedAt time.Time `json:"modified_at"`
}

// EachFile shows the entries of a folder to see, page after page, until it says that it has seen enough.
func EachFile(ctx context.Context, c *client.Client, folder string, see func(File) (enough bool)) error {
	return client.EachItem(ctx, c, "/v1/files", url.Values{"path": {folder}}, see)
}

// findFile finds a file or folder by its path in the shared folder.
func findFile(ctx context.Context, c *client.Client, name string) (found File, err error) {
	err = EachFile(ctx, c, path.Dir(name), func(f File) bool {
		if f.Path == name {
			found = f
		}
		return f.Path == name
	})
	if err == nil && found.FileID == "" {
		err = &client.Refusal{
			Status: http.StatusNotFound, Code: string(fault.FileNotFound),
			Detail: "there is no " + name + " in the shared folder",
		}
	}

	return found, err
}

func NewFiles() *cobra.Command {
	var t remote.Target
	var limit int
	var cursor string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "files [PATH]",
		Short: "List a folder of the shared folder",
		Args:  terminal.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.AsUser()
			if err != nil {
				return err
			}

			folder := "/"
			if len(args) > 0 {
				folder += strings.Trim(args[0], "/")
			}

			query := url.Values{"path": {folder}, "limit": {strconv.Itoa(limit)}}
			remote.SetUnlessEmpty(query, map[string]string{"cursor": cursor})
			answer, err := c.Get(cmd.Context(), "/v1/files", query)
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.Verbatim(cmd.OutOrStdout(), answer)
			}

			return showFiles(cmd, folder, answer)
		},
	}

	t.AddFlags(cmd)
	remote.AddListFlags(cmd, &limit, &cursor, &asJSON)
	return cmd
}

func showFiles(cmd *cobra.Command, folder string, answer []byte) error {
	list, err := client.Decode[client.Page[File]](answer)
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s is empty\n", terminal.Printable(folder))
		return nil
	}

	rows := [][]string{{"FILE ID", "NAME", "SIZE", "CHANGED"}}
	for _, f := range list.Items {
		name, size := f.Name, terminal.BytesText(f.Size)
		if f.Kind == "folder" {
			name, size = name+"/", ""
		}
		rows = append(rows, []string{f.FileID, name, size, terminal.When(f.ModifiedAt)})
	}

	if err := terminal.Table(cmd.OutOrStdout(), rows); err != nil {
		return err
	}

	remote.MentionMore(cmd, list.NextCursor)
	return nil
}
