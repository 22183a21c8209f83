package rest

import (
	"context"
	"fmt"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

const (
	downloadsCursor  = "downloads"
	downloadWorkload = "download" // in the record of events
)

type createDownloadInput struct {
	Keyed
	Body struct {
		BookID    string `json:"book_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a book" example:"4"`
		MediaType string `json:"media_type" enum:"text,audio"`
		Source    string `json:"source,omitempty" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Public Domain Torrents" doc:"Where the link was found; magnet or torrent when left out"`
		SourceURL string `json:"source_url" minLength:"1" maxLength:"8192" example:"magnet:?xt=urn:btih:…" doc:"A magnet link, or the http(s) address of a .torrent file"`
	} `nameHint:"DownloadRequest"`
}

type createDownloadOutput struct {
	Status int
	Body   shape.Download
}

type listDownloadsInput struct {
	Paging
	Status string `query:"status" enum:"queued,downloading,completed,failed,canceled" doc:"Only those in this status"`
	BookID string `query:"book_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a book" doc:"Only those for this book"`
}

type downloadInput struct {
	ID string `path:"id" example:"9" doc:"The id of a download"`
}

type cancelDownloadInput struct {
	ID   string `path:"id" example:"9" doc:"The id of a download"`
	Body *struct {
		KeepFiles bool `json:"keep_files,omitempty" doc:"Leave what was downloaded where it is"`
	} `nameHint:"DownloadCancel"`
}

var (
	createDownload = operation{
		id: "create-download", method: http.MethodPost, path: "/v1/downloads", tag: "Downloads", access: forUsers,
		scope:   store.ScopeDownloads,
		summary: "Ask for a torrent to be downloaded for a book", status: http.StatusCreated, also: http.StatusOK,
		description: "201 when this made a download, 200 with the one that is active already for the same book and medium of yours, or that the same " +
			"key was answered with before. " +
			"While qBittorrent cannot be reached a new one waits.",
		faults: []fault.Code{fault.BookNotFound, fault.ProviderUnavailable, fault.QuotaExceeded},
	}
	listDownloads = operation{
		id: "list-downloads", method: http.MethodGet, path: "/v1/downloads", tag: "Downloads", access: forUsers,
		scope:   store.ScopeRead,
		summary: "List downloads, the newest first", description: "Your own; everybody's for an administrator.",
	}
	getDownload = operation{
		id: "get-download", method: http.MethodGet, path: "/v1/downloads/{id}", tag: "Downloads", access: forUsers,
		scope: store.ScopeRead, subject: "download",
		summary: "Look at a download", faults: []fault.Code{fault.DownloadNotFound},
	}
	listDownloadEvents = operation{
		id: "list-download-events", method: http.MethodGet, path: "/v1/downloads/{id}/events", tag: "Downloads",
		access: forUsers, scope: store.ScopeRead, subject: "download",
		summary: "What happened to a download, from the beginning", faults: []fault.Code{fault.DownloadNotFound},
	}
	cancelDownload = operation{
		id: "cancel-download", method: http.MethodPost, path: "/v1/downloads/{id}/cancel", tag: "Downloads", access: forUsers,
		scope: store.ScopeDownloads, subject: "download",
		summary: "End a download, and remove its torrent unless another download needs it",
		description: "Answers once the torrent is known to be gone. When qBittorrent cannot be reached now that is a 503: the wish is kept and tried " +
			"until it is confirmed. When it only takes long, the download is still active in the answer, with `cancel_requested`.",
		faults: []fault.Code{
			fault.DownloadNotFound, fault.InvalidTransition, fault.ProviderUnavailable, fault.ProviderUnauthorized,
			fault.ProviderRejected,
			fault.TemporalUnavailable,
		},
	}
)

func (s *server) registerDownloads() {
	register(s, createDownload, s.createDownload)
	register(s, listDownloads, s.listDownloads)
	register(s, getDownload, s.getDownload)
	register(s, listDownloadEvents, s.listDownloadEvents)
	register(s, cancelDownload, s.cancelDownload)
}

func (s *server) createDownload(ctx context.Context, in *createDownloadInput) (*createDownloadOutput, error) {
	user := caller(ctx)
	bookID, ok := parseID(in.Body.BookID)
	if !ok {
		return nil, fault.New(fault.Validation, "this is not the id of a book").WithField("book_id")
	}

	job, created, err := s.startDownload(ctx, user, service.DownloadAsk{
		BookID: bookID, MediaType: in.Body.MediaType, Source: in.Body.Source, SourceURL: in.Body.SourceURL, Key: in.Key,
	})
	if fault.CodeOf(err) == fault.BookNotFound {
		return nil, fault.As(err).WithField("book_id")
	}
	if err != nil {
		return nil, err
	}

	out := &createDownloadOutput{Status: http.StatusOK, Body: s.downloadFrom(user, job)}
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

// startDownload gives the same key the same download for ever, also one that was active already when the key came
// first.
func (s *server) startDownload(
	ctx context.Context, user store.User, ask service.DownloadAsk,
) (job store.Download, created bool, err error) {
	request := store.Request{
		UserID: user.ID, Key: ask.Key,
		Asked: fmt.Sprintf("download %d %s %q %s", ask.BookID, ask.MediaType, ask.Source, ask.SourceURL),
	}

	var first int64
	found, err := s.o.Store.Answered(ctx, request, &first)
	if err != nil {
		return job, false, err
	}

	if !found {
		if job, created, err = s.o.Downloads.Start(ctx, user, ask); err != nil {
			return job, false, err
		}
		if first, err = store.KeepAnswer(ctx, s.o.Store, request, job.ID); err != nil || first == job.ID {
			return job, created, err
		}
	}

	job, err = s.o.Downloads.Get(ctx, user, first)
	return job, false, err
}

func (s *server) listDownloads(
	ctx context.Context, in *listDownloadsInput,
) (*answer[shape.Page[shape.Download]], error) {
	user := caller(ctx)
	filter := store.DownloadFilter{Status: lifecycle.DownloadState(in.Status)}
	var err error
	if filter.BookID, err = optionalID(in.BookID, "book_id"); err != nil {
		return nil, err
	}
	return listOf(in.Paging, downloadsCursor, func(before int64, limit int) ([]store.Download, error) {
		filter.Before, filter.Limit = before, limit
		return s.o.Downloads.List(ctx, user, filter)
	}, func(d store.Download) int64 { return d.ID }, func(d store.Download) shape.Download { return s.downloadFrom(user, d) })
}

func (s *server) getDownload(ctx context.Context, in *downloadInput) (*answer[shape.Download], error) {
	job, err := s.findDownload(ctx, getDownload, in.ID)
	if err != nil {
		return nil, err
	}
	return answered(s.downloadFrom(caller(ctx), job)), nil
}

func (s *server) listDownloadEvents(
	ctx context.Context, in *downloadInput,
) (*answer[shape.Page[shape.History]], error) {
	job, err := s.findDownload(ctx, listDownloadEvents, in.ID)
	if err != nil {
		return nil, err
	}
	events, err := s.o.Store.EventsOf(ctx, downloadWorkload, formatID(job.ID))
	if err != nil {
		return nil, err
	}
	return answered(pageOf("", len(events), events, nil, historyFrom)), nil
}

func (s *server) cancelDownload(ctx context.Context, in *cancelDownloadInput) (*answer[shape.Download], error) {
	user := caller(ctx)
	job, err := s.findDownload(ctx, cancelDownload, in.ID)
	if err != nil {
		return nil, err
	}

	keepFiles := in.Body != nil && in.Body.KeepFiles
	if job, err = s.o.Downloads.Cancel(ctx, user, job.ID, keepFiles); err != nil {
		return nil, err
	}

	if job.UserID != user.ID {
		s.audit(ctx, user, cancelDownload, in.ID, store.OutcomeDone)
	}
	return answered(s.downloadFrom(user, job)), nil
}

// findDownload gives a download that the caller may see. To reach for another's is audited, though it is answered as if
// there were none.
func (s *server) findDownload(ctx context.Context, op operation, id string) (store.Download, error) {
	jobID, ok := parseID(id)
	if !ok {
		return store.Download{}, fault.New(fault.DownloadNotFound, "there is no such download")
	}
	job, err := s.o.Downloads.Get(ctx, caller(ctx), jobID)
	return job, s.refusal(ctx, op, id, err)
}

func (s *server) downloadFrom(user store.User, d store.Download) shape.Download {
	return shape.Download{
		ID: formatID(d.ID), UserID: formatID(d.UserID), BookID: formatID(d.BookID), BookTitle: d.BookTitle,
		MediaType: d.MediaType,
		Status:    d.State, Source: d.Source, SourceURL: d.SourceURL, ExternalJobID: d.ExternalJobID,
		Progress: d.Progress, Size: d.Size, Speed: d.Speed, ETASeconds: d.ETA,
		FailureReason: d.FailureReason, LastError: optional(d.LastError), Attention: optional(d.Attention),
		CancelRequested: d.CancelRequestedAt != nil, AllowedActions: service.DownloadActions(user, d),
		WorkflowID: d.WorkflowID(),
		CreatedAt:  utc(d.CreatedAt), UpdatedAt: utc(d.UpdatedAt), CompletedAt: optionalUTC(d.CompletedAt),
		FirstNotFoundAt: optionalUTC(d.FirstNotFoundAt),
		DeadlineAt:      s.o.Downloads.Deadline(d),
	}
}
