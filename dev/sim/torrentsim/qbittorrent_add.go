package torrentsim

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/anacrolix/torrent/metainfo"

	"stagecoach/dev/sim"
)

// maxForm bounds a form in bytes; a .torrent file of a large library has some megabytes.
const maxForm = 64 << 20

// readForm reads the parameters of a query, a form or a multipart form.
func readForm(r *http.Request) error {
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		return r.ParseMultipartForm(maxForm)
	}
	return r.ParseForm()
}

// addTorrents adds magnet links and .torrent files. It succeeds if one of them is new; before version 5.2 the response
// does not say which.
func (q *QBittorrent) addTorrents(r *http.Request) (any, error) {
	pattern, err := q.pattern(r)
	if err != nil {
		return nil, err
	}

	var added []string
	failed := 0
	add := func(t simTorrent) {
		if q.add(t) {
			added = append(added, t.hash())
		} else {
			failed++
		}
	}

	for line := range strings.Lines(r.Form.Get("urls")) {
		line = strings.TrimSpace(line)
		t := pattern
		switch {
		case line == "":
		case t.fromMagnet(line):
			add(t)
		default:
			failed++
		}
	}

	if r.MultipartForm != nil {
		for _, header := range r.MultipartForm.File["torrents"] {
			t := pattern
			if err := t.fromUpload(header); err != nil {
				return nil, err
			}
			add(t)
		}
	}

	return q.added(added, failed)
}

// added is the response: one word before version 5.2, then numbers.
func (q *QBittorrent) added(hashes []string, failed int) (any, error) {
	none := len(hashes) == 0
	switch {
	case q.plain() && none:
		return "Fails.", nil
	case q.plain():
		return "Ok.", nil
	case none:
		return nil, &sim.Problem{Status: http.StatusConflict}
	}

	return map[string]any{
		"success_count": len(hashes), "pending_count": 0, "failure_count": failed,
		"added_torrent_ids": append([]string{}, hashes...),
	}, nil
}

// pattern is the part of a call that holds for all its torrents.
func (q *QBittorrent) pattern(r *http.Request) (simTorrent, error) {
	t := simTorrent{
		Category: r.Form.Get("category"), Tags: splitTags(r.Form.Get("tags")), SavePath: q.place(r.Form.Get("savepath")),
		RatioLimit: globalRatio, SeedLimit: globalRatio, AddedOn: q.now(), Since: q.now(), Plan: q.options.Plan,
	}

	if !q.modern() { // only this version treats blanks as part of the tag
		t.Tags = slices.DeleteFunc(strings.Split(r.Form.Get("tags"), ","), func(tag string) bool { return tag == "" })
		slices.Sort(t.Tags)
	}

	if !validCategory(t.Category) {
		t.Category = "" // the real program reports no error either
	}

	var err error
	if text := r.Form.Get("ratioLimit"); text != "" {
		if t.RatioLimit, err = strconv.ParseFloat(text, 64); err != nil {
			return t, &sim.Problem{Status: http.StatusBadRequest}
		}
	}

	if text := r.Form.Get("seedingTimeLimit"); text != "" {
		if t.SeedLimit, err = strconv.ParseInt(text, 10, 64); err != nil {
			return t, &sim.Problem{Status: http.StatusBadRequest}
		}
	}

	t.Stops = slices.Contains([]string{"MetadataReceived", "FilesChecked"}, cmp.Or(r.Form.Get("stopCondition"), q.options.StopsAt))
	stopped := "paused"
	if q.modern() {
		stopped = "stopped"
	}

	if r.Form.Get(stopped) == "true" {
		t.hold(holdPaused, q.now())
	}
	return t, nil
}

// add adds a torrent unless it exists. An existing one does not get the new tags, but a file adds its metadata to a
// magnet link without metadata.
func (q *QBittorrent) add(t simTorrent) bool {
	for _, old := range q.torrents {
		if !old.is(&t) {
			continue
		}

		if p, _ := old.at(q.now()); p <= inMeta && old.Magnet && !t.Magnet {
			old.V1, old.V2, old.Name, old.Size, old.Magnet = t.V1, t.V2, t.Name, t.Size, false
			old.Spent, old.From = 0, t.From
			q.begin(old)
			if !old.Since.IsZero() {
				old.Since = q.now()
			}
		}

		return false
	}

	q.take(&t)
	return true
}

// take adds a torrent, and its category and tags to the known ones.
func (q *QBittorrent) take(t *simTorrent) {
	if t.Category != "" {
		q.category[t.Category] = true
	}
	q.knowTags(t.Tags)
	q.torrents = append(q.torrents, t)
	q.begin(t)
}

var bareHash = regexp.MustCompile(`^([0-9a-fA-F]{40}|[A-Za-z2-7]{32})$`)

// fromMagnet reads a magnet link or a bare info hash; false when it is neither.
func (t *simTorrent) fromMagnet(link string) bool {
	if bareHash.MatchString(link) {
		link = "magnet:?xt=urn:btih:" + link
	}

	m, err := metainfo.ParseMagnetV2Uri(link)
	if err != nil || !m.InfoHash.Ok && !m.V2InfoHash.Ok {
		return false
	}

	if m.InfoHash.Ok {
		t.V1 = m.InfoHash.Value.HexString()
	}

	if m.V2InfoHash.Ok {
		t.V2 = m.V2InfoHash.Value.HexString()
	}

	t.Magnet, t.Name, t.Size = true, m.DisplayName, t.Plan.Size
	if t.Name == "" {
		t.Name = t.hash()
	}

	if t.Size == 0 {
		t.Size = 1 << 20
	}
	return true
}

// fromUpload reads an uploaded .torrent file.
func (t *simTorrent) fromUpload(header *multipart.FileHeader) error {
	f, err := header.Open()
	if err != nil {
		return err
	}

	data, err := io.ReadAll(f)
	_ = f.Close()
	if err != nil {
		return err
	}

	if !t.fromFile(data) {
		return &sim.Problem{
			Status: http.StatusUnsupportedMediaType,
			Text:   fmt.Sprintf("Error: '%s' is not a valid torrent file.", header.Filename),
		}
	}
	return nil
}

// fromFile reads a .torrent file; false when it is not one.
func (t *simTorrent) fromFile(data []byte) bool {
	file, err := metainfo.Load(bytes.NewReader(data))
	if err != nil {
		return false
	}

	info, err := file.UnmarshalInfo()
	if err != nil || info.BestName() == "" || info.PieceLength <= 0 {
		return false
	}

	if info.HasV1() {
		sum := sha1.Sum(file.InfoBytes)
		t.V1 = hex.EncodeToString(sum[:])
	}

	if info.HasV2() {
		sum := sha256.Sum256(file.InfoBytes)
		t.V2 = hex.EncodeToString(sum[:])
	}

	t.Name, t.Size, t.From = info.BestName(), info.TotalLength(), filesOf(file, info)
	if names := namesIn(info); len(names) > 1 {
		for i, f := range info.UpvertedFiles() {
			t.Files = append(t.Files, TorrentFile{Name: names[i], Size: f.Length, Priority: 1})
		}
	}
	return true
}

// laterHash is the second info hash that the metadata of a hybrid magnet link shows.
func laterHash(v1 string) string {
	sum := sha256.Sum256([]byte("hybrid " + v1))
	return hex.EncodeToString(sum[:])
}

// splitTags reads a list of tags: trimmed, sorted, each once.
func splitTags(list string) []string {
	var tags []string
	for tag := range strings.SplitSeq(list, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// validCategory reports whether a category may have this name; a slash makes a subcategory.
func validCategory(name string) bool {
	return !strings.Contains(name, `\`) && !strings.Contains(name, "//") &&
		!strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/")
}
