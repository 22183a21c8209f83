// Package download has the commands about downloads and the books of the library.
package download

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// New makes the command download, with the commands about downloads below it.
func New() *cobra.Command {
	var t remote.Target
	var o options
	cmd := &cobra.Command{
		Use:   "download BOOK LINK",
		Short: "Download a torrent for a book of the library, and manage downloads",
		Long: `Download a torrent for a book of the library, with qBittorrent.

BOOK is the id of a book. LINK is a magnet link or the http(s) address of a .torrent file; quote
it, because it may contain "&". While a download for the same book and medium is active, the
command shows that one and starts no other. With --wait it shows the progress until the end:
exit code 0 then means completed. Ctrl-C ends the waiting, not the download.`,
		Example: "  starter download 4 \"magnet:?xt=urn:btih:…\" --wait\n" +
			"  starter download 4 https://example.org/wheels.torrent --type audio",
		Args: terminal.Exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.AsUser()
			if err != nil {
				return err
			}
			return start(cmd, c, args[0], args[1], o)
		},
	}

	t.AddFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.mediaType, "type", download.MediaText, "medium of the book: text or audio")
	flags.StringVar(&o.source, "source", "", "where the link was found (default: magnet or torrent)")
	flags.BoolVar(&o.wait, "wait", false, "show the progress and wait for the end")
	flags.BoolVar(&o.asJSON, "json", false, "print the API's answer, without progress")
	cmd.AddCommand(newList(&t), newShow(&t), newCancel(&t), newEvents(&t))
	return cmd
}

type options struct {
	mediaType, source string
	wait, asJSON      bool
}

func start(cmd *cobra.Command, c *client.Client, bookID, link string, o options) error {
	body := map[string]string{"book_id": bookID, "media_type": o.mediaType, "source_url": link}
	if o.source != "" {
		body["source"] = o.source
	}

	answer, status, err := c.Send(cmd.Context(), client.Call{Method: http.MethodPost, Path: "/v1/downloads", Body: body})
	if err != nil {
		return err
	}
	job, err := client.Decode[shape.Download](answer)
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
		fmt.Fprintf(cmd.OutOrStdout(), "download %s of %s %s\n", job.ID, what(job), said)
	}

	return remote.Wait[shape.Download]{
		Wait: o.wait, AsJSON: o.asJSON, Path: Path(job.ID), Every: pollInterval, Show: "starter download show " + job.ID,
		State:    func(d shape.Download) string { return string(d.Status) },
		Change:   ChangeLine,
		Progress: ProgressLine,
		Failure:  notCompleted,
	}.Finish(cmd, c, answer)
}

// notCompleted is the error of a download that ended in another status than completed.
func notCompleted(d shape.Download) error {
	switch {
	case d.Status == lifecycle.DownloadCompleted:
		return nil
	case d.FailureReason != nil:
		return fmt.Errorf("download %s ended %s: %s", d.ID, d.Status, why(d))
	default:
		return fmt.Errorf("download %s ended %s", d.ID, d.Status)
	}
}

func newList(t *remote.Target) *cobra.Command {
	var status, bookID string
	cmd := remote.List[shape.Download]{
		As: t.AsUser, Use: "list", Short: "List your downloads, the newest first (an administrator sees everybody's)",
		Args: terminal.Exactly(0),
		Query: func([]string) (string, map[string]string) {
			return "/v1/downloads", map[string]string{"status": strings.ToLower(status), "book_id": bookID}
		},
		Show: showDownloads,
	}.Command()
	cmd.Flags().StringVar(&status, "in-status", "", "only those in this status, such as downloading or failed")
	cmd.Flags().StringVar(&bookID, "book", "", "only those for the book with this id")
	return cmd
}

func newShow(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Download]{
		As: t.AsUser, Use: "show ID", Short: "Show one download", Args: terminal.Exactly(1),
		Call: remote.Get(Path),
		Show: showDownload,
	}.Command()
}

func newCancel(t *remote.Target) *cobra.Command {
	var keepFiles bool
	cmd := remote.Ask[shape.Download]{
		As: t.AsUser, Use: "cancel ID", Args: terminal.Exactly(1),
		Short: "Cancel a download, and remove its torrent unless another download needs it",
		Call: func(args []string) (client.Call, error) {
			body := map[string]bool{"keep_files": keepFiles}
			return client.Call{Method: http.MethodPost, Path: Path(args[0]) + "/cancel", Body: body}, nil
		},
		Show: showDownload,
	}.Command()
	cmd.Flags().BoolVar(&keepFiles, "keep-files", false, "keep the files that were downloaded")
	return cmd
}

func newEvents(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Page[shape.History]]{
		As: t.AsUser, Use: "events ID", Short: "Show the history of a download, from the beginning", Args: terminal.Exactly(1),
		Call: remote.Get(func(id string) string { return Path(id) + "/events" }),
		Show: func(cmd *cobra.Command, p shape.Page[shape.History]) error { return remote.ShowEvents(cmd, p.Items) },
	}.Command()
}

func showDownloads(cmd *cobra.Command, downloads []shape.Download) error {
	rows := [][]string{{"ID", "STATUS", "DONE", "SIZE", "SPEED", "BOOK", "MEDIUM", "CREATED", "REMARK"}}
	for _, d := range downloads {
		speed := ""
		if d.Speed > 0 {
			speed = pace(d)
		}
		rows = append(rows, []string{
			d.ID, string(d.Status), percent(d.Progress), sizeText(d), speed,
			terminal.Shorten(bookText(d), 40), d.MediaType, terminal.When(d.CreatedAt), remark(d),
		})
	}

	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showDownload(cmd *cobra.Command, d shape.Download) error {
	speed := ""
	if d.Speed > 0 {
		speed = pace(d)
	}

	return terminal.Table(cmd.OutOrStdout(), terminal.Filled(
		[]string{"download", d.ID},
		[]string{"status", string(d.Status)},
		[]string{"book", bookText(d)},
		[]string{"medium", d.MediaType},
		[]string{"done", percent(d.Progress)},
		[]string{"size", sizeText(d)},
		[]string{"speed", speed},
		[]string{"remark", remark(d)},
		[]string{"not found since", terminal.WhenSet(d.FirstNotFoundAt)},
		[]string{"completed", terminal.WhenSet(d.CompletedAt)},
		[]string{"torrent", shape.Value(d.ExternalJobID)},
		[]string{"source", d.Source},
		[]string{"link", d.SourceURL},
		[]string{"created", terminal.When(d.CreatedAt)},
		[]string{"changed", terminal.When(d.UpdatedAt)},
		[]string{"workflow", d.WorkflowID},
		[]string{"you may", cmp.Or(terminal.Join(d.AllowedActions), "nothing now")},
	))
}

// percent rounds down: 100 % means that the download is complete.
func percent(part float64) string { return fmt.Sprintf("%d %%", int(100*part+1e-9)) }

func sizeText(d shape.Download) string {
	if d.Size == 0 {
		return "unknown"
	}
	return terminal.BytesText(d.Size)
}

func bookText(d shape.Download) string {
	if d.BookTitle == "" {
		return "id " + d.BookID + ", which was deleted"
	}
	return fmt.Sprintf("%s (id %s)", d.BookTitle, d.BookID)
}

// remark says why a person should look at the download; empty: no need.
func remark(d shape.Download) string {
	switch {
	case d.FailureReason != nil:
		return why(d)
	case d.Ended():
		return ""
	case d.CancelRequested:
		return "being cancelled"
	case d.FirstNotFoundAt != nil:
		return "not found in qBittorrent"
	default:
		return cmp.Or(shape.Value(d.Attention), shape.Value(d.LastError))
	}
}
