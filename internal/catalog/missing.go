package catalog

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/delivery"
)

// maxAbove is how many folders above a path are looked up in the record, from the top.
const maxAbove = 32

// recall looks up a path in the record. known means that the record has the answer, which may be that nothing is there:
// the deepest recorded folder above the path was listed within the TTL. If that listing is older the folder is listed
// again, which costs one request for all unknown paths below it until the TTL has passed. known is false if the storage
// must be queried about the path itself.
func (c *Catalog) recall(ctx context.Context, path string) (file delivery.File, known bool, err error) {
	file, err = c.o.Store.FileByPath(ctx, path)
	switch {
	case err == nil && !file.Gone, err != nil && fault.CodeOf(err) != fault.FileNotFound:
		return file, true, err
	case path == "/":
		shared := top
		shared.ModifiedAt = time.Now()
		file, err = c.save(ctx, shared)
		return file, true, err
	case c.o.TTL == 0:
		return file, false, nil
	}

	above, fresh, err := c.above(ctx, path)
	if err != nil || fresh {
		return file, true, orNoFolder(err)
	}

	_, recorded, err := c.firstPage(ctx, above.Path)
	switch {
	case fault.CodeOf(err) == fault.FileNotFound:
		return file, true, c.vanished(ctx, above, err)
	case err != nil:
		return file, true, err
	case !recorded: // the record has it once all pages were read
		c.refreshLater(above.Path)
		return file, false, nil
	}

	file, err = c.o.Store.FileByPath(ctx, path)
	if err == nil && !file.Gone || err != nil && fault.CodeOf(err) != fault.FileNotFound {
		return file, true, err
	}
	_, fresh, err = c.above(ctx, path)
	if err != nil || fresh {
		return file, true, orNoFolder(err)
	}

	return file, false, nil
}

// above returns the deepest recorded folder above a path; fresh means that its listing rules out the path.
func (c *Catalog) above(ctx context.Context, path string) (folder delivery.File, fresh bool, err error) {
	paths := []string{"/"}
	for i := 1; i < len(path) && len(paths) < maxAbove; i++ {
		if path[i] == '/' {
			paths = append(paths, path[:i])
		}
	}

	folder, err = c.o.Store.DeepestFolder(ctx, paths)
	if fault.CodeOf(err) == fault.FileNotFound { // nothing was listed yet
		folder, _, err = c.recall(ctx, "/")
	}
	if err != nil {
		return folder, false, err
	}

	listedAt, err := c.o.Store.ListedAt(ctx, folder.Path)
	last := len(paths) == maxAbove && folder.Path == paths[maxAbove-1] // the folder below it was not looked up
	return folder, !last && time.Since(listedAt) < c.o.TTL, err
}

// vanished records that the storage no longer has a folder.
func (c *Catalog) vanished(ctx context.Context, folder delivery.File, cause error) error {
	if folder.Path != "/" {
		if err := c.o.Store.DropFolder(ctx, folder.Path); err != nil {
			return err
		}
	}
	return noFolder.WithCause(cause)
}

func orNoFolder(err error) error {
	if err == nil {
		return noFolder
	}
	return err
}
