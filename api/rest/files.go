package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

func fileOf(f store.File) shape.File {
	kind := "file"
	if f.IsFolder {
		kind = "folder"
	}
	return shape.File{
		FileID: formatID(f.ID), Name: f.Name, Kind: kind, Path: f.Path, Size: f.Size, ModifiedAt: utc(f.ModifiedAt),
	}
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

func (s *server) listFiles(ctx context.Context, in *listFilesInput) (*answer[shape.FileList], error) {
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

func listed(l catalog.Listing) shape.FileList {
	folder := fileOf(l.Folder)
	end := l.Offset + len(l.Files)
	body := shape.FileList{
		Page: pageOf(filesCursor, len(l.Files), l.Files, nil, fileOf), Folder: &folder, Total: &l.Total, Stale: l.Stale,
	}
	if len(l.Files) > 0 && end < l.Total {
		body.NextCursor = cursorAt(filesCursor, int64(end))
	}
	return body
}

func (s *server) searchFiles(ctx context.Context, in *listFilesInput, offset int) (*answer[shape.FileList], error) {
	if in.Path != "/" {
		return nil, fault.New(fault.Validation, "a search looks through all folders: leave path out").WithField("path")
	}
	files, indexing, err := s.o.Catalog.Search(ctx, in.Q, in.Limit+1, offset)
	if err != nil {
		return nil, err
	}
	end := func(store.File) int64 { return int64(offset + in.Limit) }
	return answered(shape.FileList{Page: pageOf(filesCursor, in.Limit, files, end, fileOf), Indexing: indexing}), nil
}
