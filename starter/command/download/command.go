// Package download has the commands about downloads and the books of the library.
package download

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// errNotCompleted ends a command whose answer has told already how the download ended.
type errNotCompleted struct{ d Download }

func (e errNotCompleted) Error() string {
	text := fmt.Sprintf("download %s ended %s", e.d.ID, e.d.Status)
	if e.d.FailureReason != "" {
		text += ": " + e.d.why()
	}
	return text
}

func New() *cobra.Command {
	var t remote.Target
	var o downloadOptions
	cmd := &cobra.Command{
		Use:   "download BOOK LINK",
		Short: "Download a torrent for a book of the library, and look after downloads",
		Long: `Download a torrent for a book of the library, with qBittorrent.

BOOK is the id of a book, LINK a magnet link or the http(s) address of a .torrent file: quote
it, for it may hold an &. While a download for the same book and medium is active, that one is
given instead. With --wait the command shows the progress until the end: then exit code 0
means completed. Ctrl-C ends the waiting, not the download.`,
		Example: "  starter download 4 \"magnet:?xt=urn:btih:…\" --wait\n  starter download 4 https://example.org/wheels.torrent --type audio",
		Args:    terminal.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.AsUser()
			if err != nil {
				return err
			}
			return startDownload(cmd, c, args[0], args[1], o)
		},
	}

	t.AddFlags(cmd)
	cmd.Flags().StringVar(&o.mediaType, "type", store.MediaText, "what it brings: text or audio")
	cmd.Flags().StringVar(&o.source, "source", "", "where the link was found (default: magnet or torrent)")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "show the progress and wait for the end")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print the API's answer, without progress")
	cmd.AddCommand(newDownloadList(&t), newDownloadShow(&t), newDownloadCancel(&t), newDownloadEvents(&t))
	return cmd
}

type downloadOptions struct {
	mediaType, source string
	wait, asJSON      bool
}

func startDownload(cmd *cobra.Command, c *client.Client, bookID, link string, o downloadOptions) error {
	out := cmd.OutOrStdout()
	body := map[string]string{"book_id": bookID, "media_type": o.mediaType, "source_url": link}
	if o.source != "" {
		body["source"] = o.source
	}

	answer, status, err := c.Send(cmd.Context(), client.Call{Method: http.MethodPost, Path: "/v1/downloads", Body: body})
	if err != nil {
		return err
	}

	job, err := client.Decode[Download](answer)
	if err != nil {
		return err
	}

	if !o.asJSON {
		said := "is asked for"
		switch {
		case status != http.StatusCreated && job.SourceURL != link:
			said = "is active already, from another link: cancel it to take this one"
		case status != http.StatusCreated:
			said = "is active already"
		}
		fmt.Fprintf(out, "download %s of %s %s\n", job.ID, job.what(), said)
	}

	if o.wait {
		job, answer, err = remote.Watch(cmd, c, Path(job.ID), lookAtDownload, o.asJSON, Download.ProgressLine)
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("no longer waiting: the download goes on (starter download show %s, or cancel)", job.ID)
		}
		if err != nil {
			return err
		}
	}

	if o.asJSON {
		err = terminal.Verbatim(out, answer)
	} else if !o.wait {
		fmt.Fprintf(out, "see how it goes: starter download show %s\n", job.ID)
	}

	if err == nil && o.wait && job.Status != lifecycle.DownloadCompleted {
		return errNotCompleted{job}
	}
	return err
}

func newDownloadList(t *remote.Target) *cobra.Command {
	var status, bookID string
	cmd := remote.List(t, "list", "List downloads, the newest first (an administrator sees everybody's)", terminal.Between(0, 0),
		func([]string) string { return "/v1/downloads" },
		func() map[string]string {
			return map[string]string{"status": strings.ToLower(status), "book_id": bookID}
		}, showDownloads)
	cmd.Flags().StringVar(&status, "in-status", "", "only those in this status, such as downloading or failed")
	cmd.Flags().StringVar(&bookID, "book", "", "only those for the book with this id")
	return cmd
}

func newDownloadShow(t *remote.Target) *cobra.Command {
	return remote.Ask(t, "show ID", "Show one download", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		return client.Call{Method: http.MethodGet, Path: Path(args[0])}, nil
	}, showDownload)
}

func newDownloadCancel(t *remote.Target) *cobra.Command {
	var keepFiles bool
	cmd := remote.Ask(t, "cancel ID", "End a download, and remove its torrent unless another download needs it", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		return client.Call{
			Method: http.MethodPost, Path: Path(args[0]) + "/cancel", Body: map[string]bool{"keep_files": keepFiles},
		}, nil
	}, showDownload)
	cmd.Flags().BoolVar(&keepFiles, "keep-files", false, "leave what was downloaded where it is")
	return cmd
}

func newDownloadEvents(t *remote.Target) *cobra.Command {
	return remote.Ask(t, "events ID", "Show what happened to a download, from the beginning", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		return client.Call{Method: http.MethodGet, Path: Path(args[0]) + "/events"}, nil
	}, func(cmd *cobra.Command, p client.Page[remote.Event]) error { return remote.ShowEvents(cmd, p.Items) })
}

func showDownloads(cmd *cobra.Command, downloads []Download) error {
	rows := [][]string{{"ID", "STATUS", "DONE", "SIZE", "SPEED", "BOOK", "MEDIUM", "ASKED FOR", "REMARK"}}
	for _, d := range downloads {
		speed := ""
		if d.Speed > 0 {
			speed = d.pace()
		}
		rows = append(rows, []string{
			d.ID, string(d.Status), percent(d.Progress), d.sizeText(), speed, terminal.Shorten(d.bookText(), 40), d.MediaType,
			terminal.When(d.CreatedAt), d.remark(),
		})
	}

	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showDownload(cmd *cobra.Command, d Download) error {
	rows := [][]string{
		{"download", d.ID},
		{"status", string(d.Status)},
		{"book", d.bookText()},
		{"medium", d.MediaType},
		{"done", percent(d.Progress)},
		{"size", d.sizeText()},
	}

	if d.Speed > 0 {
		rows = append(rows, []string{"speed", d.pace()})
	}

	for _, row := range [][]string{
		{"remark", d.remark()}, {"not found since", terminal.WhenSet(d.FirstNotFoundAt)}, {"completed", terminal.WhenSet(d.CompletedAt)}, {"torrent", d.ExternalJobID},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}

	may := strings.Join(d.Actions, ", ")
	if may == "" {
		may = "nothing now"
	}
	return terminal.Table(cmd.OutOrStdout(), append(rows,
		[]string{"source", d.Source}, []string{"link", d.SourceURL}, []string{
			"asked for", terminal.When(d.CreatedAt),
		}, []string{"changed", terminal.When(d.UpdatedAt)},
		[]string{"workflow", d.WorkflowID}, []string{"you may", may}))
}

// percent is never 100 before all is there.
func percent(part float64) string { return fmt.Sprintf("%d %%", int(100*part+1e-9)) }

func (d Download) sizeText() string {
	if d.Size == 0 {
		return "unknown"
	}
	return terminal.BytesText(d.Size)
}

func (d Download) bookText() string {
	if d.BookTitle == "" {
		return "id " + d.BookID + ", which is gone"
	}
	return fmt.Sprintf("%s (id %s)", d.BookTitle, d.BookID)
}

// remark says what is not as it should be; empty: nothing.
func (d Download) remark() string {
	switch {
	case d.FailureReason != "":
		return d.why()
	case d.Ended():
		return ""
	case d.CancelRequested:
		return "is being cancelled"
	case !d.FirstNotFoundAt.IsZero():
		return "qBittorrent does not have it now"
	case d.Attention != "":
		return d.Attention
	default:
		return d.LastError
	}
}
