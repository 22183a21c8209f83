package deliveries

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/delivery"
)

func fileOf(f delivery.File) shape.File {
	kind := "file"
	if f.IsFolder {
		kind = "folder"
	}
	return shape.File{
		FileID: shape.ID(f.ID), Name: f.Name, Kind: kind, Path: f.Path, Size: f.Size, ModifiedAt: f.ModifiedAt.UTC(),
	}
}

type listFilesInput struct {
	server.Paging
	Path string `query:"path" maxLength:"8000" default:"/" example:"/films" doc:"The folder to list"`
	Q    string `query:"q" maxLength:"500" example:"film" doc:"Lists entries of all folders whose name holds this text"`
}

const filesCursor = "files"

func (h *handlers) listFiles(ctx context.Context, in *listFilesInput) (none shape.FileList, err error) {
	place, err := in.After(filesCursor)
	if err != nil {
		return none, err
	}

	offset := int(place)
	if in.Q != "" {
		return h.searchFiles(ctx, in, offset)
	}

	listing, err := h.files.Folder(ctx, in.Path, in.Limit, offset)
	return listed(listing), err
}

func listed(l catalog.Listing) shape.FileList {
	folder := fileOf(l.Folder)
	end := l.Offset + len(l.Files)
	body := shape.FileList{
		Page: server.PageOf(filesCursor, len(l.Files), l.Files, nil, fileOf), Folder: &folder, Total: &l.Total,
		Stale: l.Stale,
	}
	if len(l.Files) > 0 && end < l.Total {
		body.NextCursor = server.CursorAt(filesCursor, int64(end))
	}
	return body
}

func (h *handlers) searchFiles(ctx context.Context, in *listFilesInput, offset int) (none shape.FileList, err error) {
	if in.Path != "/" {
		return none, fault.Invalid("path", "a search looks through all folders: leave path out")
	}

	files, indexing, err := h.files.Search(ctx, in.Q, in.Limit+1, offset)
	if err != nil {
		return none, err
	}

	end := func(delivery.File) int64 { return int64(offset + in.Limit) }
	return shape.FileList{
		Page: server.PageOf(filesCursor, in.Limit, files, end, fileOf), Indexing: indexing,
	}, nil
}
