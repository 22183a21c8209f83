package yandexsim

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
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

func (y *Server) getDisk(*http.Request) (any, error) {
	return map[string]any{
		"total_space": 1 << 40, "used_space": 0, "trash_size": 0, "max_file_size": 50 << 30, "is_paid": true,
		"system_folders": map[string]string{},
		"user":           map[string]string{"uid": diskOwner, "login": "stand-in", "display_name": "Stand-in", "country": "ru"},
	}, nil
}

// getResource describes a file, or a folder with a page of its entries.
func (y *Server) getResource(r *http.Request) (any, error) {
	name, err := diskPath(r)
	if err != nil {
		return nil, err
	}

	want, err := parseFields(r.URL.Query().Get("fields"))
	if err != nil {
		return nil, err
	}

	page, err := parsePage(r.URL.Query())
	if err != nil {
		return nil, err
	}

	self, err := y.stat(name)
	if err != nil {
		return nil, err
	}

	resource := y.describe(r.Context(), self, want, true)
	if self.info.IsDir() && want.has("_embedded") {
		entries, err := y.readDir(name)
		if err != nil {
			return nil, err
		}

		total := len(entries)
		items, err := y.describePage(r.Context(), entries, page, want.of("_embedded").of("items"))
		if err != nil {
			return nil, err
		}

		resource["_embedded"] = want.of("_embedded").pick(map[string]any{
			"items": items, "total": total, "limit": page.limit, "offset": page.offset,
			"sort": page.sort, "path": publicPath(name),
		})
	}

	return resource, nil
}

// getFiles lists all files of the disk, in any folder.
func (y *Server) getFiles(r *http.Request) (any, error) {
	want, err := parseFields(r.URL.Query().Get("fields"))
	if err != nil {
		return nil, err
	}

	page, err := parsePage(r.URL.Query())
	if err != nil {
		return nil, err
	}

	var entries []entry
	err = fs.WalkDir(y.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			entries = append(entries, entry{path: p})
		}
		return nil // it was deleted meanwhile
	})
	if err != nil {
		return nil, err
	}

	items, err := y.describePage(r.Context(), entries, page, want.of("items"))
	if err != nil {
		return nil, err
	}
	return want.pick(map[string]any{"items": items, "limit": page.limit, "offset": page.offset}), nil
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

// page is the part of a list that a call asks for.
type page struct {
	limit, offset int
	sort          string
}

// orders are the sort keys. Those that need more than the name read the info of every entry.
var orders = map[string]func(a, b entry) int{
	"name":     func(a, b entry) int { return strings.Compare(path.Base(a.path), path.Base(b.path)) },
	"path":     func(a, b entry) int { return strings.Compare(a.path, b.path) },
	"size":     func(a, b entry) int { return cmp.Compare(size(a.info), size(b.info)) },
	"modified": func(a, b entry) int { return a.info.ModTime().Compare(b.info.ModTime()) },
	"created":  func(a, b entry) int { return a.info.ModTime().Compare(b.info.ModTime()) },
}

func size(info fs.FileInfo) int64 {
	if info.IsDir() {
		return 0
	}
	return info.Size()
}

func parsePage(q url.Values) (page, error) {
	p := page{limit: 20, sort: "name"}
	for name, n := range map[string]*int{"limit": &p.limit, "offset": &p.offset} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		value, err := strconv.Atoi(text)
		if err != nil || value < 0 {
			return page{}, &sim.Problem{Status: http.StatusBadRequest}
		}
		*n = value
	}

	if s := q.Get("sort"); s != "" {
		p.sort = s
	}

	if orders[strings.TrimPrefix(p.sort, "-")] == nil {
		return page{}, &sim.Problem{Status: http.StatusBadRequest}
	}
	return p, nil
}

// describePage sorts the entries and describes those of the page.
func (y *Server) describePage(ctx context.Context, entries []entry, p page, want fields) ([]map[string]any, error) {
	key, descending := strings.CutPrefix(p.sort, "-")
	if key != "name" && key != "path" {
		entries = y.look(entries)
	}

	order := orders[key]
	slices.SortFunc(entries, func(a, b entry) int {
		n := cmp.Or(order(a, b), strings.Compare(a.path, b.path))
		if descending {
			return -n
		}
		return n
	})

	from := min(p.offset, len(entries))
	items := []map[string]any{}
	for _, e := range y.look(entries[from : from+min(p.limit, len(entries)-from)]) {
		items = append(items, y.describe(ctx, e, want, false))
	}
	return items, ctx.Err()
}

// look reads the info of each entry and omits those that were deleted meanwhile.
func (y *Server) look(entries []entry) []entry {
	seen := make([]entry, 0, len(entries))
	for _, e := range entries {
		if e.info == nil {
			var err error
			if e, err = y.stat(e.path); err != nil {
				continue
			}
		}
		seen = append(seen, e)
	}

	return seen
}

// diskOwner is the user id of the disk's owner.
const diskOwner = "1573541518"

// describe returns an entry as the REST API does. The hashes of large files take long: wait says whether to wait for
// them or to omit them until they are known.
func (y *Server) describe(ctx context.Context, e entry, want fields, wait bool) map[string]any {
	id := sha256.Sum256([]byte(e.path))
	modified := e.info.ModTime().UTC().Format("2006-01-02T15:04:05+00:00")
	resource := map[string]any{
		"name": path.Base(e.path), "path": publicPath(e.path), "type": "dir",
		"created": modified, "modified": modified,
		"resource_id": diskOwner + ":" + hex.EncodeToString(id[:]), "revision": revision(e.info),
	}

	if e.path == "." {
		resource["name"] = "disk"
	}

	if !e.info.IsDir() {
		resource["type"] = "file"
		resource["size"] = e.info.Size()
		resource["mime_type"] = mimeType(e.path)
		resource["media_type"], _, _ = strings.Cut(mimeType(e.path), "/")
		if (want.has("md5") || want.has("sha256")) && !y.options.SkipHashes {
			if sum, ok := y.hashes.of(ctx, y.root, e, wait); ok {
				resource["md5"], resource["sha256"] = sum.md5, sum.sha256
			}
		}
	}

	return want.pick(resource)
}

// revision grows when the file changes.
func revision(info fs.FileInfo) int64 { return info.ModTime().UnixMicro() }

func publicPath(p string) string {
	if p == "." {
		return "disk:/"
	}
	return "disk:/" + p
}

func mimeType(name string) string {
	kind, _, err := mime.ParseMediaType(mime.TypeByExtension(path.Ext(name)))
	if err != nil {
		return "application/octet-stream"
	}
	return kind
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

func (f fields) of(name string) fields { return f[name] }

// pick returns the requested fields of a resource.
func (f fields) pick(resource map[string]any) map[string]any {
	for name := range resource {
		if !f.has(name) {
			delete(resource, name)
		}
	}
	return resource
}
