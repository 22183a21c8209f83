package demo

import (
	"io/fs"
	"path/filepath"
)

// drop is a file in a watched folder, in one shape: a file that changes becomes another drop.
type drop struct {
	path    string // as the shared folder has it, from a slash on
	size    int64
	changed int64 // Unix time in nanoseconds
}

// watchedFolder sees which files lie in a folder, at any depth.
type watchedFolder struct {
	root string
	last map[drop]bool
}

func newWatchedFolder(root string) *watchedFolder { return &watchedFolder{root: root} }

// look gives the files that are as they were at the look before, in order of their paths. changing says that there are
// others, which are still being written or are new: they belong to the next look.
func (w *watchedFolder) look() (settled []drop, changing bool, err error) {
	now := map[drop]bool{}
	err = filepath.WalkDir(w.root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil && name == w.root {
			return err
		}
		if err != nil || !entry.Type().IsRegular() {
			return nil // gone since its folder was read, or not for us to read
		}

		info, err := entry.Info()
		if err != nil {
			return nil
		}

		below, err := filepath.Rel(w.root, name)
		if err != nil {
			return err
		}

		d := drop{"/" + filepath.ToSlash(below), info.Size(), info.ModTime().UnixNano()}
		now[d] = true
		if w.last[d] {
			settled = append(settled, d)
		} else {
			changing = true
		}

		return nil
	})

	w.last = now
	return settled, changing, err
}
