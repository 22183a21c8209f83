package delivery

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// EachFile passes the entries of a folder to see, page after page, until see returns true.
func EachFile(ctx context.Context, c *client.Client, folder string, see func(shape.File) (enough bool)) error {
	return client.EachItem(ctx, c, "/v1/files", url.Values{"path": {folder}}, see)
}

// findFile finds a file or folder by its path in the shared folder.
func findFile(ctx context.Context, c *client.Client, name string) (found shape.File, err error) {
	err = EachFile(ctx, c, path.Dir(name), func(f shape.File) bool {
		if f.Path == name {
			found = f
		}
		return f.Path == name
	})
	if err == nil && found.FileID == "" {
		err = &client.Refusal{
			Status: http.StatusNotFound, Code: fault.FileNotFound,
			Detail: "" + name + " is not in the shared folder",
		}
	}

	return found, err
}

// NewFiles makes the command files.
func NewFiles() *cobra.Command {
	return remote.List[shape.File]{
		Use: "files [PATH]", Short: "List the shared folder or one of its folders",
		Path:  "/v1/files",
		Query: func(args []string) url.Values { return url.Values{"path": {folderOf(args)}} },
		Show:  showFiles,
	}.Command()
}

// folderOf is the folder that the arguments of a command name; without one it is the shared folder itself.
func folderOf(args []string) string { return "/" + strings.Trim(strings.Join(args, ""), "/") }

func showFiles(cmd *cobra.Command, files []shape.File) error {
	if len(files) == 0 {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is empty\n", terminal.Printable(folderOf(cmd.Flags().Args())))
		return err
	}

	return listFiles(cmd, files)
}

var listFiles = remote.Rows(func(f shape.File) []string {
	name, size := f.Name, terminal.BytesText(f.Size)
	if f.Kind == "folder" {
		name, size = name+"/", ""
	}
	return []string{f.FileID, name, size, terminal.When(f.ModifiedAt)}
}, "FILE ID", "NAME", "SIZE", "CHANGED")
