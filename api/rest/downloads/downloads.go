package downloads

import (
	"context"
	"maps"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

const downloadsCursor = "downloads"

type createDownloadInput struct {
	server.Keyed
	Body struct {
		BookID    string         `json:"book_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a book" example:"4"`
		MediaType string         `json:"media_type" enum:"text,audio"`
		Source    string         `json:"source,omitempty" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Public Domain Torrents" doc:"Where the link was found; default: magnet or torrent"`
		SourceURL string         `json:"source_url" minLength:"1" maxLength:"8192" example:"magnet:?xt=urn:btih:…" doc:"Magnet link, or http(s) URL of a .torrent file"`
		Send      bool           `json:"send,omitempty" scope:"deliveries" doc:"Send the files to your Telegram chat once they are in the library, even if the download was already active. The token also needs the scope deliveries"`
		Sources   []shape.Source `json:"sources,omitempty" maxItems:"10" doc:"Fallback sources, each tried when the previous one fails or stalls; at most 10 including source_url, which may be among them. Duplicate links and infohashes count once, and sources that have already failed for you and the book are skipped"`
	} `nameHint:"DownloadRequest"`
}

type listDownloadsInput struct {
	server.Paging
	Status string `query:"status" enum:"queued,downloading,completed,failed,canceled" doc:"Only downloads in this status"`
	BookID string `query:"book_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a book" doc:"Only downloads for this book"`
}

type downloadInput struct {
	ID string `path:"id" example:"9" doc:"Download ID"`
}

type cancelDownloadInput struct {
	server.Keyed
	ID   string `path:"id" example:"9" doc:"Download ID"`
	Body *struct {
		KeepFiles bool `json:"keep_files,omitempty" doc:"Keep the downloaded files in place"`
	} `nameHint:"DownloadCancel"`
}

type retryImportInput struct {
	server.Keyed
	ID string `path:"id" example:"9" doc:"Download ID"`
}

type repeatDownloadInput struct {
	server.Keyed
	ID string `path:"id" example:"9" doc:"Download ID"`
}

// handlers implement the operations on downloads and books.
type handlers struct {
	*server.Server
	downloads *downloads.Service
}

// Register adds the operations on downloads and books to an API.
func Register(s *server.Server, downloads *downloads.Service) {
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

// registerDownloads adds the operations on downloads.
func (h *handlers) registerDownloads() {
	downloads := server.Group{
		Server: h.Server, Tag: "Downloads", Access: server.ForUsers, Scope: account.ScopeRead, Subject: "download",
	}

	server.RegisterRaw(downloads, server.Operation{
		Id: "create-download", Route: "POST /v1/downloads", Scope: lifecycle.DownloadScope,
		Status: http.StatusCreated, Also: http.StatusOK, Body: 2 * server.SmallBody, // ten links of 8 KiB
		Summary: "Download a torrent for a book",
		Description: "201: a new download; 200: your active download for the same book and medium, or the one that the same " +
			"key returned before. " +
			"A new download waits while qBittorrent is unreachable.",
		Faults: []fault.Code{fault.BookNotFound, fault.ProviderUnavailable, fault.QuotaExceeded},
	}, h.createDownload)

	server.Register(downloads, server.Operation{
		Id: "list-downloads", Route: "GET /v1/downloads",
		Summary:     "List downloads, newest first",
		Description: "Your own; for administrators, everyone's.",
	}, h.listDownloads)

	server.Register(downloads, server.Operation{
		Id: "get-download", Route: "GET /v1/downloads/{id}",
		Summary: "Get a download", Faults: []fault.Code{fault.DownloadNotFound},
	}, h.getDownload)

	server.Register(downloads, server.Operation{
		Id: "list-download-events", Route: "GET /v1/downloads/{id}/events",
		Summary: "List the events of a download, oldest first", Faults: []fault.Code{fault.DownloadNotFound},
	}, h.listDownloadEvents)

	server.Register(downloads, server.Operation{
		Id: "cancel-download", Route: "POST /v1/downloads/{id}/cancel", Scope: lifecycle.DownloadScope,
		Summary: "Cancel a download and remove its torrent unless another download needs it",
		Description: "Returns once the torrent is confirmed removed. Returns 503 while qBittorrent is unreachable or slow: the download " +
			"has `cancel_requested`, the removal is retried until confirmed, and repeating the request with the same key returns the final state.",
		Faults: []fault.Code{
			fault.DownloadNotFound, fault.InvalidTransition, fault.ProviderUnavailable, fault.ProviderUnauthorized,
			fault.ProviderRejected, fault.TemporalUnavailable, fault.WorkflowPaused,
		},
	}, h.cancelDownload)

	server.RegisterRaw(downloads, server.Operation{
		Id: "repeat-download", Route: "POST /v1/downloads/{id}/again", Scope: lifecycle.DownloadScope,
		Status: http.StatusCreated, Also: http.StatusOK,
		Summary: "Request one of your downloads again",
		Description: "Uses all its sources; those that have failed for you and the book come last. Keeps its `send` if the token also has the scope " +
			"`deliveries`. Returns what creating a download returns.",
		Faults: []fault.Code{fault.DownloadNotFound, fault.BookNotFound, fault.ProviderUnavailable, fault.QuotaExceeded},
	}, h.repeatDownload)

	server.Register(downloads, server.Operation{
		Id: "retry-download-import", Route: "POST /v1/downloads/{id}/retry-import", Scope: lifecycle.DownloadScope,
		Summary:     "Retry a failed import of a download's files into the library folder",
		Description: "Returns immediately: the download becomes `completed` once the files are there, or gets `attention` if the import fails again.",
		Faults: []fault.Code{
			fault.DownloadNotFound, fault.InvalidTransition, fault.TemporalUnavailable, fault.WorkflowPaused,
		},
	}, h.retryImport)
}

func (h *handlers) createDownload(ctx context.Context, in *createDownloadInput) (*server.Made[shape.Download], error) {
	user := server.Caller(ctx)
	bookID, ok := shape.ParseID(in.Body.BookID)
	if !ok {
		return nil, fault.Invalid("book_id", "this is not the id of a book")
	}

	job, created, err := h.downloads.Start(ctx, user, downloads.Ask{
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
	maySend := server.PrincipalOf(ctx).Require(lifecycle.DeliveryScope) == nil
	job, created, err := h.downloads.Again(ctx, user, server.PathID(in.ID), in.Key, maySend)
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
	job, err := h.downloads.Cancel(ctx, user, server.PathID(in.ID), shape.Value(in.Body).KeepFiles, in.Key)
	if err != nil {
		return none, h.Refusal(ctx, in.ID, err)
	}

	if job.UserID != user.ID {
		h.Done(ctx, in.ID)
	}
	return h.downloadFor(user)(job), nil
}

func (h *handlers) retryImport(ctx context.Context, in *retryImportInput) (none shape.Download, err error) {
	user := server.Caller(ctx)
	job, err := h.downloads.RetryImport(ctx, user, server.PathID(in.ID), in.Key)
	if err != nil {
		return none, h.Refusal(ctx, in.ID, err)
	}

	if job.UserID != user.ID {
		h.Done(ctx, in.ID)
	}
	return h.downloadFor(user)(job), nil
}

// findDownload returns a download that the caller may see.
func (h *handlers) findDownload(ctx context.Context, id string) (download.Download, error) {
	job, err := h.downloads.Get(ctx, server.Caller(ctx), server.PathID(id))
	return job, h.Refusal(ctx, id, err)
}

// contentOf returns the path of a completed download's content; nil before.
func contentOf(d download.Download) *string {
	if d.State != lifecycle.DownloadCompleted {
		return nil
	}
	return &d.ContentPath
}

// otherCategoryOf returns the category of a torrent that qBittorrent has for somebody else; nil if there is none.
func otherCategoryOf(d download.Download) *string {
	if d.LastError != string(fault.TorrentElsewhere) {
		return nil
	}
	return &d.OtherCategory
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
			FailureReason: d.FailureReason, LastError: shape.Optional(d.LastError), OtherCategory: otherCategoryOf(d), Attention: shape.Optional(d.Attention),
			Send: d.Send, SentAt: shape.OptionalTime(d.SentAt), Files: d.FileCount, LeftOut: d.LeftOut, InBook: d.InBook,
			CancelRequested: d.CancelRequestedAt != nil, AllowedActions: downloads.Actions(user, d),
			WaitsFor:   shape.Optional(d.WaitsFor()),
			WorkflowID: d.WorkflowID(),
			CreatedAt:  d.CreatedAt.UTC(), UpdatedAt: d.UpdatedAt.UTC(), CompletedAt: shape.OptionalTime(d.CompletedAt),
			FirstNotFoundAt: shape.OptionalTime(d.FirstNotFoundAt),
			DeadlineAt:      h.downloads.Deadline(d),
		}
	}
}
