package yandexsim

import (
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"stagecoach/dev/sim"
)

// entry is one file or folder of the disk; its info is read on demand.
type entry struct {
	path string // below the root, "." for the root itself
	info fs.FileInfo
}

// getDisk describes the disk by its owner.
func (y *Server) getDisk(*http.Request) (any, error) {
	return map[string]any{"user": map[string]string{"uid": "1573541518"}}, nil
}

// getResource describes a file, or a folder with a page of its entries in the order of their names.
func (y *Server) getResource(r *http.Request) (any, error) {
	name, err := diskPath(r)
	if err != nil {
		return nil, err
	}

	query := r.URL.Query()
	want, err := parseFields(query.Get("fields"))
	if err != nil {
		return nil, err
	}
	offset, err := number(query, "offset", 0)
	if err != nil {
		return nil, err
	}
	limit, err := number(query, "limit", 20)
	if err != nil {
		return nil, err
	}

	self, err := y.stat(name)
	if err != nil {
		return nil, err
	}

	resource := y.describe(r.Context(), self, want, true)
	if !self.info.IsDir() || !want.has("_embedded") {
		return resource, nil
	}

	entries, err := y.readDir(name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })

	total := len(entries)
	entries = entries[min(offset, total):]
	items := []map[string]any{}
	for _, e := range entries[:min(limit, len(entries))] {
		if e, err = y.stat(e.path); err == nil { // it was not deleted meanwhile
			items = append(items, y.describe(r.Context(), e, want["_embedded"]["items"], false))
		}
	}

	resource["_embedded"] = want["_embedded"].pick(map[string]any{
		"items": items, "total": total, "limit": limit, "offset": offset,
	})
	return resource, r.Context().Err()
}

// number reads a number from a query; without is its default.
func number(query url.Values, name string, without int) (int, error) {
	text := query.Get(name)
	if text == "" {
		return without, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 {
		return 0, &sim.Problem{Status: http.StatusBadRequest}
	}
	return value, nil
}

// describe returns an entry as the REST API does. Hashing a large file takes long: wait says whether to wait for it
// or to omit the hash until it is known.
func (y *Server) describe(ctx context.Context, e entry, want fields, wait bool) map[string]any {
	resource := map[string]any{
		"name": path.Base(e.path), "type": "dir", "modified": e.info.ModTime().UTC().Format("2006-01-02T15:04:05+00:00"),
	}
	if e.path == "." {
		resource["name"] = "disk"
	}

	if !e.info.IsDir() {
		resource["type"] = "file"
		resource["size"] = e.info.Size()
		if want.has("sha256") && !y.options.SkipHashes {
			if sum, ok := y.hashes.of(ctx, y.root, e, wait); ok {
				resource["sha256"] = sum
			}
		}
	}
	return want.pick(resource)
}

// stat returns a file or a folder; a path outside the disk is not found.
func (y *Server) stat(name string) (entry, error) {
	info, err := y.root.Stat(name)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return entry{}, &sim.Problem{Status: http.StatusNotFound}
	}
	return entry{path: name, info: info}, nil
}

// readDir lists a folder without reading each file's info, which would take most of the time in a large one.
func (y *Server) readDir(name string) ([]entry, error) {
	dir, err := y.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()

	found, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}

	entries := make([]entry, 0, len(found))
	for _, d := range found {
		e := entry{path: path.Join(name, d.Name())}
		if !d.IsDir() && !d.Type().IsRegular() { // a symbolic link counts when its target is inside
			if e, err = y.stat(e.path); err != nil {
				continue
			}
		}
		entries = append(entries, e)
	}

	return entries, nil
}

// fields is the tree of the fields that a call requests; nil requests everything.
type fields map[string]fields

// parseFields reads "name,_embedded.items.path".
func parseFields(list string) (fields, error) {
	if list == "" {
		return nil, nil
	}

	tree := fields{}
	for field := range strings.SplitSeq(list, ",") {
		node := tree
		for part := range strings.SplitSeq(strings.TrimSpace(field), ".") {
			if part == "" {
				return nil, &sim.Problem{Status: http.StatusBadRequest}
			}
			if node[part] == nil {
				node[part] = fields{}
			}
			node = node[part]
		}
	}

	return tree, nil
}

func (f fields) has(name string) bool { return len(f) == 0 || f[name] != nil }

// pick returns the requested fields of a resource.
func (f fields) pick(resource map[string]any) map[string]any {
	for name := range resource {
		if !f.has(name) {
			delete(resource, name)
		}
	}
	return resource
}
