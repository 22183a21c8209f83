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
	Path string `query:"path" maxLength:"8000" default:"/" example:"/films" doc:"Folder to list"`
	Q    string `query:"q" maxLength:"500" example:"film" doc:"Lists entries of all folders whose name contains this text"`
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
	return shape.FileList{Page: pageOf(l.Files, l.Offset, l.Total), Folder: &folder, Total: &l.Total, Stale: l.Stale}
}

// pageOf shows files of a list, which start at an offset and are total in all. The next page begins after the last file
// shown.
func pageOf(files []delivery.File, offset, total int) (page shape.Page[shape.File]) {
	page.Items, _ = server.Fit(shape.List(files, fileOf), server.MostOfPage)
	if end := offset + len(page.Items); len(page.Items) > 0 && end < total {
		page.NextCursor = server.CursorAt(filesCursor, int64(end))
	}
	return page
}

func (h *handlers) searchFiles(ctx context.Context, in *listFilesInput, offset int) (none shape.FileList, err error) {
	if in.Path != "/" {
		return none, fault.Invalid("path", "a search covers all folders: omit path")
	}

	files, indexing, err := h.files.Search(ctx, in.Q, in.Limit+1, offset)
	if err != nil {
		return none, err
	}

	shown := files[:min(len(files), in.Limit)]
	return shape.FileList{Page: pageOf(shown, offset, offset+len(files)), Indexing: indexing}, nil
}
