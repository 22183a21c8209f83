package bot

import (
	"context"
	"strconv"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

const downloadsPerPage = 6

func (b *Bot) downloadCommands() []command {
	return []command{
		{name: "download", about: aboutDownload, run: b.askDownload},
		{name: "downloads", about: aboutDownloads, run: b.showDownloads},
		{name: "books", about: aboutBooks, run: b.books},
		{name: "book", about: aboutBook, run: b.book},
	}
}

func (b *Bot) downloadButtons() []button {
	return []button{
		{prefix: "dl", command: "downloads", run: b.openDownloads}, // dl:<ids below this one; 0: the newest>
		{prefix: "dx", command: "downloads", run: b.stopDownload},  // dx:<download>
		{prefix: "dr", command: "download", run: b.retryDownload},  // dr:<download>
		{prefix: "dm", command: "download", run: b.chooseMedium},   // dm:<book>:<medium>
		{prefix: "bk", command: "books", run: b.chooseBook},        // bk:<book>
		{prefix: "bp", command: "books", run: b.turnBooks},         // bp:<ids below this one; 0: the newest>; bp: all
		{prefix: "bn", command: "book", run: b.addBook},            // bn
	}
}

// showDownloads is /downloads: a person's own, the newest first.
func (b *Bot) showDownloads(ctx context.Context, r *request) error {
	return b.openDownloads(ctx, r, nil)
}

func (b *Bot) openDownloads(ctx context.Context, r *request, args []string) error {
	before := max(number(args, 0), 0)
	// One more than is shown tells whether there is another page.
	jobs, err := b.downloads.List(
		ctx, r.user, store.DownloadFilter{UserID: r.user.ID, Before: before, Limit: downloadsPerPage + 1},
	)
	if err != nil {
		return err
	}

	more := len(jobs) > downloadsPerPage
	b.show(ctx, r, downloadsView(r.user, jobs[:min(downloadsPerPage, len(jobs))], before, more))
	return nil
}

// downloadsView draws a page of a person's own downloads.
func downloadsView(user store.User, jobs []store.Download, before int64, more bool) view {
	language := user.Language
	lines := []string{textDownloads.in(language)}
	var stops [][]telego.InlineKeyboardButton
	for _, job := range jobs {
		lines = append(
			lines, "", textDownloadTitle.in(language, job.ID, bookOf(language, job), mediaNames[job.MediaType].in(language)),
		)
		lines = append(lines, downloadStanding(language, job)...)
		if canCancel(user, job) {
			stops = append(stops, press(labelStopJob.in(language, job.ID), "dx", job.ID))
		}
	}

	if len(jobs) == 0 {
		lines = append(lines, textNoDownloads.in(language))
	}

	turn := press(labelRefresh.in(language), "dl", before)
	if before != 0 {
		turn = append(turn, press(labelNewest.in(language), "dl", 0)...)
	}

	if more {
		turn = append(turn, press(labelOlder.in(language), "dl", jobs[len(jobs)-1].ID)...)
	}
	return view{text: strings.Join(lines, "\n"), rows: rows(append(stops, turn)...)}
}

// stopDownload is the Cancel button, on a download's own message, on its notice, or in the list, which is the menu and
// is drawn anew.
func (b *Bot) stopDownload(ctx context.Context, r *request, args []string) error {
	id := number(args, 0)
	job, err := b.downloads.Cancel(ctx, r.user, id, false)
	if job.ID != 0 && job.UserID != r.user.ID {
		r.subject = store.DownloadLiveMessages + "/" + strconv.FormatInt(job.ID, 10)
	}

	if job.CancelRequestedAt != nil { // also when qBittorrent cannot be reached now
		if err := b.store.HurryLiveMessage(ctx, store.DownloadLiveMessages, id); err != nil {
			b.log.Warn("bot: board is not hurried", "download", id, "error", err)
		}
	}

	switch {
	case err == nil && job.State == lifecycle.DownloadCanceled:
		r.note = r.say(textDownloadStopped, id)
	case err == nil:
		r.note = r.say(textDownloadStopping, id)
	case job.CancelError != "" && !lifecycle.Download.Terminal(job.State): // the wish stands
		r.note, r.alert = r.say(textStopWaits, id), true
	default:
		return err
	}

	if r.message != r.conv.MessageID {
		return nil
	}
	return b.showDownloads(ctx, r)
}

// retryDownload is the button on the notice of a download that did not end well: the same once more. However often it
// is pressed, it is one more job.
func (b *Bot) retryDownload(ctx context.Context, r *request, args []string) error {
	job, err := b.store.DownloadByID(ctx, number(args, 0))
	if err == nil && job.UserID != r.user.ID { // not even an administrator's: it would be for themselves
		err = fault.New(fault.DownloadNotFound, "there is no such download")
	}

	if err != nil {
		return err
	}

	again, created, err := b.begin(ctx, r, service.DownloadAsk{
		BookID: job.BookID, MediaType: job.MediaType, Source: job.Source, SourceURL: job.SourceURL,
		Key: "bot/again/" + strconv.FormatInt(job.ID, 10),
	})
	if err != nil {
		return err
	}

	r.note = r.say(began(created), again.ID)
	return nil
}

// begin starts a download; created is false when there is one.
func (b *Bot) begin(ctx context.Context, r *request, ask service.DownloadAsk) (store.Download, bool, error) {
	job, created, err := b.downloads.Start(ctx, r.user, ask)
	if fault.CodeOf(err) == fault.ProviderUnavailable { // one that is there and cannot be reached is waited for
		err = hint{text: textDownloadsOff}
	}
	return job, created, err
}

func began(created bool) text {
	if created {
		return textDownloadAsked
	}
	return textDownloadAskedBefore
}
