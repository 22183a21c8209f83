package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

type fileBody struct {
	FileID     string    `json:"file_id" example:"42"`
	Name       string    `json:"name" example:"film.mkv"`
	Kind       string    `json:"kind" enum:"file,folder"`
	Path       string    `json:"path" example:"/films/film.mkv" doc:"In the shared folder, which is /"`
	Size       int64     `json:"size" example:"734003200" doc:"Bytes; 0 for a folder"`
	ModifiedAt time.Time `json:"modified_at" example:"2026-03-01T12:00:00Z"`
}

func fileOf(f store.File) fileBody {
	kind := "file"
	if f.IsFolder {
		kind = "folder"
	}
	return fileBody{
		FileID: formatID(f.ID), Name: f.Name, Kind: kind, Path: f.Path, Size: f.Size, ModifiedAt: utc(f.ModifiedAt),
	}
}

// fileListBody is a page of files with what is known of the whole.
type fileListBody struct {
	Page[fileBody]
	Folder   *fileBody `json:"folder,omitempty" doc:"The folder that was listed; absent in a search"`
	Total    *int      `json:"total,omitempty" example:"2" doc:"Entries in the whole folder; absent in a search"`
	Stale    bool      `json:"stale" doc:"The storage cannot be reached: this is what it held the last time"`
	Indexing bool      `json:"indexing" doc:"The shared folder is read for the first time: a search may soon find more"`
}

type listFilesInput struct {
	Paging
	Path string `query:"path" maxLength:"8000" default:"/" example:"/films" doc:"The folder to list"`
	Q    string `query:"q" maxLength:"500" example:"film" doc:"Lists entries of all folders whose name holds this text"`
}

const filesCursor = "files"

func (s *server) registerFiles() {
	register(s, operation{
		id: "list-files", method: http.MethodGet, path: "/v1/files", tag: "Files", access: forUsers, scope: store.ScopeFiles,
		summary: "Browse the shared folder, or search it",
		description: "Folders stand before files, except in a folder of more than 1,000 entries: that one is in the order of names alone. " +
			"Give either `path` or `q`.",
		faults: []fault.Code{
			fault.FileNotFound, fault.YandexUnavailable, fault.YandexUnreachable, fault.YandexTimeout, fault.YandexUnauthorized,
			fault.YandexRateLimited,
		},
	}, s.listFiles)
}

func (s *server) listFiles(ctx context.Context, in *listFilesInput) (*answer[fileListBody], error) {
	place, err := in.after(filesCursor)
	if err != nil {
		return nil, err
	}

	offset := int(place)
	if in.Q != "" {
		return s.searchFiles(ctx, in, offset)
	}

	listing, err := s.o.Catalog.Folder(ctx, in.Path, in.Limit, offset)
	if err != nil {
		return nil, err
	}
	return answered(listed(listing)), nil
}

func listed(l catalog.Listing) fileListBody {
	folder := fileOf(l.Folder)
	end := l.Offset + len(l.Files)
	body := fileListBody{
		Page: pageOf(filesCursor, len(l.Files), l.Files, nil, fileOf), Folder: &folder, Total: &l.Total, Stale: l.Stale,
	}
	if len(l.Files) > 0 && end < l.Total {
		body.NextCursor = cursorAt(filesCursor, int64(end))
	}
	return body
}

func (s *server) searchFiles(ctx context.Context, in *listFilesInput, offset int) (*answer[fileListBody], error) {
	if in.Path != "/" {
		return nil, fault.New(fault.Validation, "a search looks through all folders: leave path out").WithField("path")
	}
	files, indexing, err := s.o.Catalog.Search(ctx, in.Q, in.Limit+1, offset)
	if err != nil {
		return nil, err
	}
	end := func(store.File) int64 { return int64(offset + in.Limit) }
	return answered(fileListBody{Page: pageOf(filesCursor, in.Limit, files, end, fileOf), Indexing: indexing}), nil
}
