package downloads

import (
	"context"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

const downloadsPerPage = 6

// showDownloads is /downloads, and the buttons of its pages: a person's own, the newest first.
func (h *handlers) showDownloads(ctx context.Context, r *chat.Request, args chat.Args) error {
	before := args.Offset(0)
	filter := download.Filter{UserID: r.User.ID, Before: before, Limit: downloadsPerPage + 1}
	jobs, err := h.downloads.List(ctx, r.User, filter)
	if err != nil {
		return err
	}

	jobs, next := chat.Page(jobs, downloadsPerPage, func(job download.Download) int64 { return job.ID })
	h.Show(ctx, r, listView(r.User, jobs, before, next))
	return nil
}

// listView draws a page of a person's own downloads.
func listView(user account.User, jobs []download.Download, before, next int64) chat.View {
	language := user.Language
	lines := []string{textDownloads.In(language)}
	var rows []chat.Row
	for _, job := range jobs {
		lines = append(lines, "", title(language, job))
		lines = append(lines, progress(language, job)...)
		if canCancel(user, job) {
			rows = append(rows, chat.Press(chat.LabelCancelID.In(language, job.ID), "dx", job.ID))
		}
	}
	if len(jobs) == 0 {
		lines = append(lines, textNoDownloads.In(language))
	}

	refresh := chat.Press(chat.LabelRefresh.In(language), "dl", before)
	rows = append(rows, append(refresh, chat.Turn(language, "dl", before, next)...))
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(rows...)}
}
