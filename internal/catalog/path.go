package catalog

import (
	"path"
	"strings"
	"unicode/utf8"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/yandex"
)

const maxPath = 1024 // bytes

// checkPath refuses a path that is not clean, rather than cleaning it.
func checkPath(p string) error {
	wrong := ""
	switch {
	case !strings.HasPrefix(p, "/"):
		wrong = "a path begins with /"
	case len(p) > maxPath:
		wrong = "a path has at most 1024 bytes"
	case !utf8.ValidString(p) || strings.ContainsRune(p, 0):
		wrong = "a path is UTF-8 text"
	case p != "/" && path.Clean(p) != p:
		wrong = `a path has no empty part, no "." and no ".."`
	}

	// path.Clean keeps no "..", except one that goes above the top.
	if wrong == "" {
		return nil
	}
	return fault.New(fault.Validation, "%s", wrong).WithField("path")
}

// entry is the record of a storage item. It is false for an item without a valid path.
func entry(item yandex.Item, place int) (delivery.File, bool) {
	file := delivery.File{
		Path: item.Path, Parent: path.Dir(item.Path), Name: item.Name, IsFolder: item.Folder,
		Size: item.Size, SHA256: item.SHA256, ModifiedAt: item.Modified, Place: place,
	}
	return file, item.Name != "" && !strings.Contains(item.Name, "/") && checkPath(item.Path) == nil
}

// top is the shared folder itself. It exists without querying the storage.
var top = delivery.File{Path: "/", Name: "/", IsFolder: true}
