package downloads

import (
	"cmp"
	"context"
	"crypto/rand"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

type sendDownloadInput struct {
	server.Keyed
	ID string `path:"id" example:"9" doc:"Download ID"`
}

type sendMediumInput struct {
	server.Keyed
	ID        string `path:"id" example:"4" doc:"Book ID"`
	MediaType string `path:"media_type" enum:"text,audio" example:"text" doc:"Which medium of the book"`
}

// registerSending adds the operations that send books to chats.
func (h *handlers) registerSending() {
	sending := server.Group{
		Server: h.Server, Access: server.ForUsers, Scope: lifecycle.DeliveryScope,
		Faults: []fault.Code{
			fault.MediaNotReady, fault.TooManyFiles, fault.NoTelegramChat, fault.FileNotFound, fault.FileEmpty, fault.FileTooBig,
			fault.QuotaExceeded,
		},
	}
	const about = "Creates a delivery for each file of the medium in the library folder, at most 20. "

	downloads, books := sending, sending
	downloads.Tag, downloads.Subject = "Downloads", "download"
	server.Register(downloads, server.Operation{
		Id: "send-download", Route: "POST /v1/downloads/{id}/send",
		Summary:     "Send a download's files to your Telegram chat",
		Description: about + "If a download with `send` was not fully sent, creates the missing deliveries, whatever the key.",
		Faults:      []fault.Code{fault.DownloadNotFound},
	}, h.sendDownload)

	books.Tag, books.Subject = "Books", "book"
	server.Register(books, server.Operation{
		Id: "send-medium", Route: "POST /v1/books/{id}/media/{media_type}/send",
		Summary:     "Send a medium of a book to your Telegram chat",
		Description: about + "Everyone shares the library.",
		Faults:      []fault.Code{fault.BookNotFound},
	}, h.sendMedium)
}

func (h *handlers) sendDownload(ctx context.Context, in *sendDownloadInput) (shape.Sending, error) {
	jobs, err := h.downloads.Send(ctx, server.Caller(ctx), server.PathID(in.ID), cmp.Or(in.Key, rand.Text()), delivery.SourceAPI)
	return server.Shown(jobs, h.Refusal(ctx, in.ID, err), sendingOf)
}

func (h *handlers) sendMedium(ctx context.Context, in *sendMediumInput) (shape.Sending, error) {
	jobs, err := h.downloads.SendBook(
		ctx, server.Caller(ctx), server.PathID(in.ID), in.MediaType, cmp.Or(in.Key, rand.Text()), delivery.SourceAPI,
	)
	return server.Shown(jobs, err, sendingOf)
}

func sendingOf(jobs []delivery.Job) shape.Sending {
	return shape.Sending{Deliveries: shape.List(jobs, func(j delivery.Job) shape.SentFile {
		return shape.SentFile{DeliveryID: shape.ID(j.ID), FileName: j.FileName, Size: j.Size}
	})}
}
