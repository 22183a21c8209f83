package catalog

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/store/delivery"
	"stagecoach/internal/yandex"
)

// maxMoves is how often reading a folder starts over because the folder changed meanwhile.
const maxMoves = 3

var errRestless = errors.New("the folder changes faster than it can be read")

// refreshLater reads a complete folder in the background, once at a time. A folder that was listed since the caller
// checked is not read again.
func (c *Catalog) refreshLater(path string) {
	c.inBackground(func(ctx context.Context) {
		// The key differs from that of refresh: a crawl needs the subfolders, which this does not always read.
		_, err, _ := c.flight.Do("later "+path, func() (any, error) {
			if fresh, err := c.fresh(ctx, path); err != nil || fresh {
				return nil, err
			}
			return c.refresh(ctx, path)
		})
		if err != nil && ctx.Err() == nil {
			c.o.Log.Warn("background refresh of a folder failed", "error", err)
		}
	})
}

// refresh reads and records a complete folder and returns the paths of its subfolders.
func (c *Catalog) refresh(ctx context.Context, path string) ([]string, error) {
	folders, err, _ := c.flight.Do("refresh "+path, func() (any, error) {
		ctx, cancel := context.WithTimeout(ctx, refreshTime)
		defer cancel()

		files, err := c.readWhole(ctx, path)
		if err != nil {
			return nil, err
		}

		var folders []string
		for _, file := range files {
			if file.IsFolder {
				folders = append(folders, file.Path)
			}
		}
		return folders, c.o.Store.ReplaceListing(ctx, path, files)
	})

	paths, _ := folders.([]string)
	return paths, err
}

// readWhole reads a folder page by page. A folder that grew or shrank meanwhile is read again: entries may have moved
// from one page to another.
func (c *Catalog) readWhole(ctx context.Context, path string) ([]delivery.File, error) {
	for range maxMoves {
		var all yandex.Page
		for {
			page, err := c.o.Upstream.List(ctx, path, upstreamPage, len(all.Items))
			if err != nil {
				return nil, err
			}
			if len(all.Items) > 0 && page.Total != all.Total {
				break
			}

			all.Total = page.Total
			all.Items = append(all.Items, page.Items...)
			if len(all.Items) >= all.Total {
				return c.entries(all), nil
			}
			if len(page.Items) == 0 {
				break
			}
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}

	return nil, errRestless
}
