package downloads

import (
	"context"
	"maps"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

const downloadsCursor = "downloads"

type createDownloadInput struct {
	server.Keyed
	Body struct {
		BookID    string         `json:"book_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a book" example:"4"`
		MediaType string         `json:"media_type" enum:"text,audio"`
		Source    string         `json:"source,omitempty" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Public Domain Torrents" doc:"Where the link was found; magnet or torrent when left out"`
		SourceURL string         `json:"source_url" minLength:"1" maxLength:"8192" example:"magnet:?xt=urn:btih:…" doc:"A magnet link, or the http(s) address of a .torrent file"`
		Send      bool           `json:"send,omitempty" doc:"Send the files to your Telegram chat when they are in the library; also when the download was active already"`
		Sources   []shape.Source `json:"sources,omitempty" maxItems:"10" doc:"Further sources, each tried when the one before fails or stands still; at most 10 with that of source_url, which may be among them. The same link or infohash counts once, and those that have failed before for the book are left out"`
	} `nameHint:"DownloadRequest"`
}

type listDownloadsInput struct {
	server.Paging
	Status string `query:"status" enum:"queued,downloading,completed,failed,canceled" doc:"Only those in this status"`
	BookID string `query:"book_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a book" doc:"Only those for this book"`
}

type downloadInput struct {
	ID string `path:"id" example:"9" doc:"The id of a download"`
}

type cancelDownloadInput struct {
	server.Tried
	ID   string `path:"id" example:"9" doc:"The id of a download"`
	Body *struct {
		KeepFiles bool `json:"keep_files,omitempty" doc:"Leave what was downloaded where it is"`
	} `nameHint:"DownloadCancel"`
}

type retryImportInput struct {
	server.Tried
	ID string `path:"id" example:"9" doc:"The id of a download"`
}

type repeatDownloadInput struct {
	server.Keyed
	ID string `path:"id" example:"9" doc:"The id of a download"`
}

// handlers answer the operations of downloads and books.
type handlers struct {
	*server.Server
	downloads *service.Downloads
}

// Register adds the operations of downloads and books to an API.
func Register(s *server.Server, downloads *service.Downloads) {
	h := &handlers{Server: s, downloads: downloads}
	maps.Copy(s.Kinds, kinds)
	s.Hide(fault.DownloadNotFound, func(ctx context.Context, id int64) error {
		_, err := s.Store.Downloads.ByID(ctx, id)
		return err
	})

	h.registerDownloads()
	h.registerBooks()
	h.registerReleases()
	h.registerSending()
}

// registerDownloads adds the operations of downloads.
func (h *handlers) registerDownloads() {
	downloads := server.Group{
		Server: h.Server, Tag: "Downloads", Access: server.ForUsers, Scope: account.ScopeRead, Subject: "download",
	}

	server.RegisterRaw(downloads, server.Operation{
		Id: "create-download", Route: "POST /v1/downloads", Scope: lifecycle.DownloadScope,
		Status: http.StatusCreated, Also: http.StatusOK, Body: 2 * server.SmallBody, // ten links of 8 KiB
		Summary: "Ask for a torrent to be downloaded for a book",
		Description: "201 when this made a download, 200 with the one that is active already for the same book and medium of yours, or that the same " +
			"key was answered with before. " +
			"While qBittorrent cannot be reached a new one waits.",
		Faults: []fault.Code{fault.BookNotFound, fault.ProviderUnavailable, fault.QuotaExceeded},
	}, h.createDownload)

	server.Register(downloads, server.Operation{
		Id: "list-downloads", Route: "GET /v1/downloads",
		Summary:     "List downloads, the newest first",
		Description: "Your own; everybody's for an administrator.",
	}, h.listDownloads)

	server.Register(downloads, server.Operation{
		Id: "get-download", Route: "GET /v1/downloads/{id}",
		Summary: "Get a download", Faults: []fault.Code{fault.DownloadNotFound},
	}, h.getDownload)

	server.Register(downloads, server.Operation{
		Id: "list-download-events", Route: "GET /v1/downloads/{id}/events",
		Summary: "What happened to a download, from the beginning", Faults: []fault.Code{fault.DownloadNotFound},
	}, h.listDownloadEvents)

	server.RegisterTried(downloads, server.Operation{
		Id: "cancel-download", Route: "POST /v1/downloads/{id}/cancel", Scope: lifecycle.DownloadScope,
		Summary: "End a download, and remove its torrent unless another download needs it",
		Description: "Answers once the torrent is known to be gone. When qBittorrent cannot be reached now that is a 503: the wish is kept and tried " +
			"until it is confirmed. When it only takes long, the download is still active in the answer, with `cancel_requested`.",
		Faults: []fault.Code{
			fault.DownloadNotFound, fault.InvalidTransition, fault.ProviderUnavailable, fault.ProviderUnauthorized,
			fault.ProviderRejected, fault.TemporalUnavailable,
		},
	}, h.cancelDownload, h.tryCancel)

	server.RegisterRaw(downloads, server.Operation{
		Id: "repeat-download", Route: "POST /v1/downloads/{id}/again", Scope: lifecycle.DownloadScope,
		Status: http.StatusCreated, Also: http.StatusOK,
		Summary:     "Ask once more for what a download of yours was to bring",
		Description: "From all its sources: those that have failed for the book are tried last. Answers as the first request for it.",
		Faults:      []fault.Code{fault.DownloadNotFound, fault.BookNotFound, fault.ProviderUnavailable, fault.QuotaExceeded},
	}, h.repeatDownload)

	server.RegisterTried(downloads, server.Operation{
		Id: "retry-download-import", Route: "POST /v1/downloads/{id}/retry-import", Scope: lifecycle.DownloadScope,
		Summary:     "Put the files of a download into the library folder, after that has failed",
		Description: "Answers at once: `completed` follows when the files are there, `attention` when they cannot be put there again.",
		Faults:      []fault.Code{fault.DownloadNotFound, fault.InvalidTransition},
	}, h.retryImport, h.tryRetryImport)
}

func (h *handlers) createDownload(ctx context.Context, in *createDownloadInput) (*server.Made[shape.Download], error) {
	user := server.Caller(ctx)
	bookID, ok := shape.ParseID(in.Body.BookID)
	if !ok {
		return nil, fault.Invalid("book_id", "this is not the id of a book")
	}

	job, created, err := h.downloads.Start(ctx, user, service.DownloadAsk{
		BookID: bookID, MediaType: in.Body.MediaType, Source: in.Body.Source, SourceURL: in.Body.SourceURL, Key: in.Key, Send: in.Body.Send,
		Sources: shape.List(in.Body.Sources, sourceFrom),
	})
	if fault.CodeOf(err) == fault.BookNotFound {
		err = fault.As(err).WithField("book_id")
	}
	if err != nil {
		return nil, err
	}
	return server.MadeOf(h.downloadFor(user)(job), created), nil
}

func (h *handlers) repeatDownload(
	ctx context.Context, in *repeatDownloadInput,
) (*server.Made[shape.Download], error) {
	user := server.Caller(ctx)
	job, created, err := h.downloads.Again(ctx, user, server.PathID(in.ID), in.Key)
	if err != nil {
		return nil, h.Refusal(ctx, in.ID, err)
	}
	return server.MadeOf(h.downloadFor(user)(job), created), nil
}

func (h *handlers) listDownloads(
	ctx context.Context, in *listDownloadsInput,
) (none shape.Page[shape.Download], err error) {
	user := server.Caller(ctx)
	filter := download.Filter{Status: lifecycle.DownloadState(in.Status)}
	if filter.BookID, err = server.OptionalID(in.BookID, "book_id"); err != nil {
		return none, err
	}
	return server.ListOf(in.Paging, downloadsCursor, func(before int64, limit int) ([]download.Download, error) {
		filter.Before, filter.Limit = before, limit
		return h.downloads.List(ctx, user, filter)
	}, func(d download.Download) int64 { return d.ID }, h.downloadFor(user))
}

func (h *handlers) getDownload(ctx context.Context, in *downloadInput) (shape.Download, error) {
	job, err := h.findDownload(ctx, in.ID)
	return server.Shown(job, err, h.downloadFor(server.Caller(ctx)))
}

func (h *handlers) listDownloadEvents(
	ctx context.Context, in *downloadInput,
) (none shape.Page[shape.History], err error) {
	job, err := h.findDownload(ctx, in.ID)
	if err != nil {
		return none, err
	}
	return h.Events(ctx, lifecycle.WorkloadDownload, job.ID)
}

func (h *handlers) cancelDownload(ctx context.Context, in *cancelDownloadInput) (none shape.Download, err error) {
	user := server.Caller(ctx)
	job, err := h.downloads.Cancel(ctx, user, server.PathID(in.ID), shape.Value(in.Body).KeepFiles)
	if err != nil {
		return none, h.Refusal(ctx, in.ID, err)
	}

	if job.UserID != user.ID {
		h.Done(ctx, in.ID)
	}
	return h.downloadFor(user)(job), nil
}

func (h *handlers) tryCancel(ctx context.Context, in *cancelDownloadInput) (shape.DryRun, error) {
	trial, err := h.downloads.Try(ctx, server.Caller(ctx), server.PathID(in.ID), lifecycle.DownloadActionCancel)
	return server.Shown(trial, h.Refusal(ctx, in.ID, err), server.DryRunFrom)
}

func (h *handlers) retryImport(ctx context.Context, in *retryImportInput) (none shape.Download, err error) {
	user := server.Caller(ctx)
	job, err := h.downloads.RetryImport(ctx, user, server.PathID(in.ID))
	if err != nil {
		return none, h.Refusal(ctx, in.ID, err)
	}

	if job.UserID != user.ID {
		h.Done(ctx, in.ID)
	}
	return h.downloadFor(user)(job), nil
}

func (h *handlers) tryRetryImport(ctx context.Context, in *retryImportInput) (shape.DryRun, error) {
	trial, err := h.downloads.Try(ctx, server.Caller(ctx), server.PathID(in.ID), lifecycle.DownloadActionRetryImport)
	return server.Shown(trial, h.Refusal(ctx, in.ID, err), server.DryRunFrom)
}

// findDownload gives a download that the caller may see.
func (h *handlers) findDownload(ctx context.Context, id string) (download.Download, error) {
	job, err := h.downloads.Get(ctx, server.Caller(ctx), server.PathID(id))
	return job, h.Refusal(ctx, id, err)
}

// contentOf returns where the content of a completed download lies; nil before.
func contentOf(d download.Download) *string {
	if d.State != lifecycle.DownloadCompleted {
		return nil
	}
	return &d.ContentPath
}

func sourceOf(s download.JobSource) shape.DownloadSource {
	return shape.DownloadSource{
		Place: s.Place, Title: s.Title, Indexer: s.Indexer, Size: s.Size, Infohash: s.Infohash, Outcome: shape.Optional(s.Outcome),
	}
}

// downloadFor shows downloads to a user.
func (h *handlers) downloadFor(user account.User) func(download.Download) shape.Download {
	return func(d download.Download) shape.Download {
		return shape.Download{
			ID: shape.ID(d.ID), UserID: shape.ID(d.UserID), BookID: shape.ID(d.BookID), BookTitle: d.BookTitle,
			MediaType: d.MediaType,
			Status:    d.State, Source: d.Source, SourceURL: d.SourceURL, ExternalJobID: d.ExternalJobID,
			SourcePlace: d.SourcePlace, Sources: shape.List(d.Sources, sourceOf),
			ContentPath: contentOf(d),
			Progress:    d.Progress, Size: d.Size, Speed: d.Speed, ETASeconds: d.ETA,
			FailureReason: d.FailureReason, LastError: shape.Optional(d.LastError), Attention: shape.Optional(d.Attention),
			Send: d.Send, SentAt: shape.OptionalTime(d.SentAt), Files: d.FileCount,
			CancelRequested: d.CancelRequestedAt != nil, AllowedActions: service.DownloadActions(user, d),
			WaitsFor:   shape.Optional(service.DownloadWaitsFor(d)),
			WorkflowID: d.WorkflowID(),
			CreatedAt:  d.CreatedAt.UTC(), UpdatedAt: d.UpdatedAt.UTC(), CompletedAt: shape.OptionalTime(d.CompletedAt),
			FirstNotFoundAt: shape.OptionalTime(d.FirstNotFoundAt),
			DeadlineAt:      h.downloads.Deadline(d),
		}
	}
}
