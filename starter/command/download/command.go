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
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// New makes the command download, with the commands about downloads below it.
func New() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "download BOOK [LINK…]",
		Short: "Download a torrent for a book of the library, and manage downloads",
		Long: `Download a torrent for a book of the library, with qBittorrent.

BOOK is the id of a book. LINK is a magnet link or the http(s) address of a .torrent file; quote
it, because it may contain "&". Further LINKs are fallbacks, tried when the previous one fails or
stalls. With --find the LINK is that of a release from the indexers, and the releases after it
are the fallbacks. While a download of the same book and medium is active, the command shows
that one and starts no other. With --wait it shows progress until the end: exit code 0 then
means completed. Ctrl-C stops waiting, not the download.`,
		Example: "  starter download 4 \"magnet:?xt=urn:btih:…\" --wait\n" +
			"  starter download 4 https://example.org/wheels.torrent --type audio\n" +
			"  starter download 4 --find \"wheels cartwright\" --pick 2",
		Args: terminal.AsUsed,
		RunE: func(cmd *cobra.Command, args []string) error { return start(cmd, args, o) },
	}

	flags := cmd.Flags()
	flags.StringVar(&o.mediaType, "type", download.MediaText, "medium of the book: text or audio")
	flags.StringVar(&o.source, "source", "", "where the link comes from (default: magnet or torrent)")
	flags.StringVar(&o.find, "find", "", "search the indexers for these words and download a release")
	flags.IntVar(&o.pick, "pick", 1, "with --find: number of the release, as listed by starter book find")
	flags.BoolVar(&o.send, "send", false, "send the files to your Telegram chat once they are downloaded")
	flags.BoolVar(&o.wait, "wait", false, "show progress and wait for the end")
	flags.BoolVar(&o.asJSON, "json", false, "print the API's response as JSON, without progress")

	cmd.AddCommand(
		remote.List[shape.Download]{
			Use: "list", Short: "List your downloads, newest first (administrators see everyone's)",
			Path: "/v1/downloads",
			Filters: []remote.Filter{
				{
					Flag: "in-status", Parameter: "status", Write: strings.ToLower, Values: lifecycle.Download.StateNames(),
					About: "filter by status, such as downloading or failed",
				},
				{Flag: "book", Parameter: "book_id", About: "filter by book id"},
			},
			Show: showDownloads,
		}.Command(),
		remote.Ask[shape.Download]{
			Use: "show ID", Short: "Show one download",
			Call: "GET /v1/downloads/{}", Show: showDownload,
		}.Command(),
		newCancel(),
		remote.Ask[shape.Download]{
			Use: "retry ID", Short: "Retry a failed import of a download's files into the library folder",
			Call: "POST /v1/downloads/{}/retry-import", Show: showDownload,
		}.Command(),
		remote.Ask[shape.Download]{
			Use: "again ID", Short: "Request a download again, from all its sources", Keyed: true,
			Call: "POST /v1/downloads/{}/again", Show: showDownload,
		}.Command(),
		remote.Ask[shape.Sending]{
			Use: "send ID", Short: "Send a download's files to your Telegram chat", Keyed: true,
			Call: "POST /v1/downloads/{}/send", Show: showSending,
		}.Command(),
		remote.Ask[shape.Page[shape.History]]{
			Use: "events ID", Short: "Show the history of a download, from the beginning",
			Call: "GET /v1/downloads/{}/events",
			Show: func(cmd *cobra.Command, p shape.Page[shape.History]) error { return remote.ShowEvents(cmd, p.Items) },
		}.Command(),
	)

	return cmd
}

func newCancel() *cobra.Command {
	cmd := remote.Ask[shape.Download]{
		Use: "cancel ID", Short: "Cancel a download, and remove its torrent unless another download needs it",
		Call: "POST /v1/downloads/{}/cancel",
		Fields: []remote.Field{
			{Flag: "keep-files", Value: false, Always: true, About: "keep the downloaded files"},
		},
		Show: showDownload,
	}.Command()

	// The cancel request is recorded and retried.
	cmd.Annotations = map[string]string{string(fault.ProviderUnavailable): "check its state: starter download show ID"}
	return cmd
}

// NextSteps advise what to do about a refusal.
var NextSteps = map[fault.Code]string{
	fault.BookNotFound:        "list the books: starter book list, or add it: starter book add TITLE",
	fault.DownloadNotFound:    "list them: starter download list",
	fault.MediaNotReady:       "check its state: starter download show ID",
	fault.TooManyFiles:        "read them in an app over /opds: see docs/download.md",
	fault.ProviderUnavailable: "downloads are off until the API and the worker are configured: see docs/download.md",
}

type options struct {
	mediaType, source string
	find              string
	pick              int
	send              bool
	wait, asJSON      bool
}

func start(cmd *cobra.Command, args []string, o options) error {
	c, err := remote.Client(cmd, false)
	if err != nil {
		return err
	}

	sources, err := sourcesOf(cmd.Context(), c, args, o)
	if err != nil {
		return err
	}

	link := sources[0].SourceURL
	body := map[string]any{"book_id": args[0], "media_type": o.mediaType, "source_url": link}
	if source := cmp.Or(o.source, sources[0].Indexer); source != "" {
		body["source"] = source
	}
	if o.send {
		body["send"] = true
	}
	if len(sources) > 1 || o.find != "" {
		body["sources"] = sources
	}

	return remote.Wait[shape.Download]{
		Wait: o.wait, AsJSON: o.asJSON,
		Call:  client.Call{Method: http.MethodPost, Path: "/v1/downloads", Body: body},
		Asked: func(d shape.Download, existed bool) string { return asked(d, existed, link) },
		ID:    func(d shape.Download) string { return d.ID },
		Jobs:  "/v1/downloads/", Show: "starter download show", Every: pollInterval,
		State:    func(d shape.Download) string { return string(d.Status) },
		Change:   ChangeLine,
		Progress: ProgressLine,
		Failure:  notCompleted,
	}.Run(cmd, c)
}

// asked is the line about a download that was requested with a link.
func asked(d shape.Download, existed bool, link string) string {
	said := "is requested"
	switch {
	case existed && !d.AsksFor(link):
		said = "is already active from another link: cancel it to use this one"
	case existed:
		said = "is already active"
	}
	return fmt.Sprintf("download %s of %s %s", d.ID, what(d), said)
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

var showDownloads = remote.Rows(func(d shape.Download) []string {
	return []string{
		d.ID, string(d.Status), percent(d.Progress), sizeText(d), pace(d),
		terminal.Shorten(bookText(d), 40), d.MediaType, terminal.When(d.CreatedAt), remark(d),
	}
}, "ID", "STATUS", "DONE", "SIZE", "SPEED", "BOOK", "MEDIUM", "CREATED", "REMARK")

func showDownload(cmd *cobra.Command, d shape.Download) error {
	return terminal.Table(cmd.OutOrStdout(), terminal.Filled(
		[]string{"download", d.ID},
		[]string{"status", string(d.Status)},
		[]string{"book", bookText(d)},
		[]string{"medium", d.MediaType},
		[]string{"done", percent(d.Progress)},
		[]string{"size", sizeText(d)},
		[]string{"speed", pace(d)},
		[]string{"waits for", shape.Value(d.WaitsFor)},
		[]string{"remark", remark(d)},
		[]string{"not found since", terminal.WhenSet(d.FirstNotFoundAt)},
		[]string{"completed", terminal.WhenSet(d.CompletedAt)},
		[]string{"sent", terminal.WhenSet(d.SentAt)},
		[]string{"copy", copyText(d)},
		[]string{"torrent", shape.Value(d.ExternalJobID)},
		[]string{"source", d.Source},
		[]string{"link", d.SourceURL},
		[]string{"sources", sourcesText(d)},
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
		return "id " + d.BookID + ", deleted"
	}
	return fmt.Sprintf("%s (id %s)", d.BookTitle, d.BookID)
}

// copyText says that the book has another copy, and that the torrent has more files of the medium; empty if neither
// applies.
func copyText(d shape.Download) string {
	var said []string
	if d.KeptApart() {
		said = append(said, "the book has another copy; this one stays with the download")
	}
	if d.LeftOut > 0 {
		said = append(said, fmt.Sprintf("%d more files of this kind in the torrent were not taken", d.LeftOut))
	}
	return strings.Join(said, "; ")
}

// remark says why a person should check the download; empty: no need.
func remark(d shape.Download) string {
	switch {
	case d.FailureReason != nil:
		return why(d)
	case d.Ended():
		return shape.Value(d.Attention)
	case d.CancelRequested:
		return "being cancelled"
	case d.FirstNotFoundAt != nil:
		return "not found in qBittorrent"
	case d.Attention != nil:
		return because(*d.Attention, shape.Value(d.LastError))
	default:
		return shape.Value(d.LastError)
	}
}
