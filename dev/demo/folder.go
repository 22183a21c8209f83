package demo

import (
	"io/fs"
	"path/filepath"
)

// drop is one version of a file in a watched folder: a changed file becomes another drop.
type drop struct {
	path    string // as in the shared folder, beginning with a slash
	size    int64
	changed int64 // Unix time in nanoseconds
}

// watchedFolder lists the files in a folder, at any depth.
type watchedFolder struct {
	root string
	last map[drop]bool
}

func newWatchedFolder(root string) *watchedFolder { return &watchedFolder{root: root} }

// look returns the files that have not changed since the previous poll, ordered by path. changing reports that there
// are others, which are new or still being written: the next poll returns them.
func (w *watchedFolder) look() (settled []drop, changing bool, err error) {
	now := map[drop]bool{}
	err = filepath.WalkDir(w.root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil && name == w.root {
			return err
		}
		if err != nil || !entry.Type().IsRegular() {
			return nil // deleted since its folder was read, or not readable
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
