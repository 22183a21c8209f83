package download_test

import (
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// TestAsks asks for what is refused, and names the field at fault.
func TestAsks(t *testing.T) {
	t.Parallel()
	w := newRig(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, time.Minute)
	ctx := t.Context()
	good := service.DownloadAsk{BookID: w.book.ID, MediaType: download.MediaAudio, SourceURL: magnet(1)}

	for name, c := range map[string]struct {
		change func(*service.DownloadAsk)
		code   fault.Code
		field  string
	}{
		"no medium":      {func(a *service.DownloadAsk) { a.MediaType = "" }, fault.Validation, "media_type"},
		"another medium": {func(a *service.DownloadAsk) { a.MediaType = "video" }, fault.Validation, "media_type"},
		"long source":    {func(a *service.DownloadAsk) { a.Source = strings.Repeat("я", 101) }, fault.Validation, "source"},
		"odd source":     {func(a *service.DownloadAsk) { a.Source = "a\x00b" }, fault.Validation, "source"},
		"no link":        {func(a *service.DownloadAsk) { a.SourceURL = "" }, fault.Validation, "source_url"},
		"odd link":       {func(a *service.DownloadAsk) { a.SourceURL = "file:///etc/passwd" }, fault.Validation, "source_url"},
		"two links":      {func(a *service.DownloadAsk) { a.SourceURL += "\n" + magnet(2) }, fault.Validation, "source_url"},
		"no book":        {func(a *service.DownloadAsk) { a.BookID = 1 }, fault.BookNotFound, ""},
	} {
		ask := good
		c.change(&ask)
		_, _, err := w.jobs.Start(ctx, w.reader, ask)
		if f := fault.As(err); f == nil || f.Code != c.code || f.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}

	pending := w.reader
	pending.Status = account.UserPending
	_, _, err := w.jobs.Start(ctx, pending, good)
	w.wantCode(err, fault.UserNotActive)
	off := *w.jobs
	off.Off = true
	_, _, err = off.Start(ctx, w.reader, good)
	w.wantCode(err, fault.ProviderUnavailable)

	named := good
	named.Source = " my indexer "
	first, created, err := w.jobs.Start(ctx, w.reader, named)
	if err != nil || !created || first.Source != "my indexer" || first.InfohashV1 != magnet(1)[20:] || first.WorkflowStartedAt != nil && first.State != lifecycle.DownloadQueued {
		t.Errorf("%+v, %v", first, err)
	}

	other, _, err := w.jobs.Start(ctx, w.user(account.RoleUser), good)
	if err != nil || other.Source != "magnet" || other.ID == first.ID {
		t.Errorf("%+v, %v", other, err)
	}

	mine, err := w.jobs.List(ctx, w.reader, download.Filter{Limit: 10})
	if err != nil || len(mine) != 1 || mine[0].ID != first.ID {
		t.Errorf("%+v, %v", mine, err)
	}
	if all, err := w.jobs.List(ctx, w.user(account.RoleAdmin), download.Filter{Limit: 10}); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}

	_, err = w.jobs.Get(ctx, w.reader, other.ID)
	w.wantCode(err, fault.DownloadNotFound)

	for _, book := range [][2]string{{"", "x"}, {strings.Repeat("a", 501), ""}, {"a", strings.Repeat("b", 501)}, {"a\nb", ""}, {"a", "\x00"}} {
		if _, err := w.jobs.CreateBook(ctx, w.reader, book[0], book[1], ""); fault.CodeOf(err) != fault.Validation {
			t.Errorf("%q: %v", book, err)
		}
	}
}
