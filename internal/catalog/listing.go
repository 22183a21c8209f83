package catalog

import (
	"context"
	"fmt"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/yandex"
)

// folderAt finds a folder in the record, otherwise at the storage.
func (c *Catalog) folderAt(ctx context.Context, path string) (delivery.File, error) {
	file, known, err := c.recall(ctx, path)
	switch {
	case known && err == nil && !file.IsFolder:
		return delivery.File{}, notAFolder
	case known || err != nil:
		return file, err
	}

	item, err := share(ctx, c, "stat "+path, func(ctx context.Context) (yandex.Item, error) {
		return c.o.Upstream.Stat(ctx, path)
	})
	if fault.CodeOf(err) == fault.FileNotFound {
		return delivery.File{}, noFolder.WithCause(err)
	}
	if err != nil {
		return delivery.File{}, err
	}

	found, ok := entry(item, file.Place)
	if !ok {
		return delivery.File{}, noFolder
	}
	if !found.IsFolder {
		return delivery.File{}, notAFolder
	}

	return c.save(ctx, found)
}

func (c *Catalog) save(ctx context.Context, file delivery.File) (delivery.File, error) {
	saved, err := c.o.Store.SaveFiles(ctx, []delivery.File{file})
	if err != nil {
		return delivery.File{}, err
	}
	return saved[0], nil
}

// list returns a page of a folder from the record while that is fresh, otherwise from the storage. An outdated record
// is used only if the storage is unavailable.
func (c *Catalog) list(ctx context.Context, folder delivery.File, limit, offset int) (Listing, error) {
	limit, offset = min(max(limit, 1), upstreamPage), max(offset, 0)
	listedAt, err := c.o.Store.ListedAt(ctx, folder.Path)
	if err != nil {
		return Listing{}, err
	}

	known := listedAt.Unix() > 0
	if known && time.Since(listedAt) < c.o.TTL {
		return c.recorded(ctx, folder, limit, offset)
	}

	listing, err := c.ask(ctx, folder, known, limit, offset)
	switch fault.CodeOf(err) {
	case fault.FileNotFound:
		return Listing{}, c.vanished(ctx, folder, err)
	case fault.YandexUnauthorized, fault.YandexLocked, fault.YandexUnavailable, fault.YandexProtocol:
		if known {
			c.o.Log.Warn("storage unavailable, serving a stale listing", "folder", folder.ID, "error", err)
			listing, err = c.recorded(ctx, folder, limit, offset)
			listing.Stale = true
		}
	}
	return listing, err
}

// recorded answers from PostgreSQL alone.
func (c *Catalog) recorded(ctx context.Context, folder delivery.File, limit, offset int) (Listing, error) {
	total, err := c.o.Store.CountFiles(ctx, folder.Path)
	if err != nil {
		return Listing{}, err
	}
	files, err := c.o.Store.Listing(ctx, folder.Path, total <= upstreamPage, limit, offset)
	return Listing{Folder: folder, Files: files, Total: total, Offset: offset}, err
}

// ask answers from the storage. A folder that fits in one page of the storage is recorded completely at once, and the
// record sorts it. Of a bigger folder the requested page is recorded now and the rest later.
func (c *Catalog) ask(ctx context.Context, folder delivery.File, known bool, limit, offset int) (Listing, error) {
	big := false
	if known {
		total, err := c.o.Store.CountFiles(ctx, folder.Path)
		if err != nil {
			return Listing{}, err
		}
		big = total > upstreamPage
	}

	if !big {
		first, recorded, err := c.firstPage(ctx, folder.Path)
		if err != nil {
			return Listing{}, err
		}
		if recorded {
			return c.recorded(ctx, folder, limit, offset)
		}

		c.refreshLater(folder.Path)
		if end := min(offset+limit, first.Total); offset < end && end <= len(first.Items) {
			first.Items, first.Offset = first.Items[offset:end], offset
			return c.part(ctx, folder, first)
		}
	}

	c.refreshLater(folder.Path)
	page, err := share(ctx, c, fmt.Sprint("page ", limit, " ", offset, " ", folder.Path), func(ctx context.Context) (yandex.Page, error) {
		return c.o.Upstream.List(ctx, folder.Path, limit, offset)
	})
	if err != nil {
		return Listing{}, err
	}

	return c.part(ctx, folder, page)
}

// firstPage reads a folder's first page, and records it if it is the only one. It reads nothing if the folder was
// listed since the caller checked. recorded says that the record has the complete folder.
func (c *Catalog) firstPage(ctx context.Context, path string) (page yandex.Page, recorded bool, err error) {
	first, err := share(ctx, c, "first "+path, func(ctx context.Context) (*yandex.Page, error) {
		if fresh, err := c.fresh(ctx, path); err != nil || fresh {
			return nil, err
		}

		page, err := c.o.Upstream.List(ctx, path, upstreamPage, 0)
		if err != nil || page.Total > upstreamPage {
			return &page, err
		}
		return nil, c.o.Store.ReplaceListing(ctx, path, c.entries(page))
	})
	if err != nil || first == nil {
		return yandex.Page{}, err == nil, err
	}
	return *first, false, nil
}

// fresh reports whether a folder was listed completely within the TTL.
func (c *Catalog) fresh(ctx context.Context, path string) (bool, error) {
	listedAt, err := c.o.Store.ListedAt(ctx, path)
	return time.Since(listedAt) < c.o.TTL, err
}

// part answers with a page of the storage, once its entries have ids.
func (c *Catalog) part(ctx context.Context, folder delivery.File, page yandex.Page) (Listing, error) {
	files, err := c.o.Store.SaveFiles(ctx, c.entries(page))
	return Listing{Folder: folder, Files: files, Total: page.Total, Offset: page.Offset}, err
}

// entries converts a page into records. It drops entries with an invalid path, and duplicates.
func (c *Catalog) entries(page yandex.Page) []delivery.File {
	files := make([]delivery.File, 0, len(page.Items))
	seen := make(map[string]bool, len(page.Items))
	for i, item := range page.Items {
		file, ok := entry(item, page.Offset+i)
		if ok && !seen[file.Path] {
			files = append(files, file)
		}
		seen[file.Path] = true
	}

	if skipped := len(page.Items) - len(files); skipped > 0 {
		c.o.Log.Warn("entries of the shared folder skipped: path too long or invalid", "entries", skipped)
	}
	return files
}

// share runs fn once for all concurrent callers with the same key. A caller that leaves does not end it for the others.
func share[T any](ctx context.Context, c *Catalog, key string, fn func(context.Context) (T, error)) (T, error) {
	result := c.flight.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		defer cancel()
		return fn(ctx)
	})

	select {
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	case r := <-result:
		value, _ := r.Val.(T)
		return value, r.Err
	}
}
