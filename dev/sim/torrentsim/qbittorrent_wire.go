package torrentsim

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stagecoach/dev/sim"
)

// unknownETA is the Web API's value for an unknown time: 100 days.
const unknownETA = 8_640_000

func seeding(s string) bool { return strings.HasSuffix(s, "UP") || s == "uploading" }

// wireTorrent is a torrent as torrents/info shows it, with the fields that clients of ours read.
type wireTorrent struct {
	AddedOn          int64   `json:"added_on"`
	AmountLeft       int64   `json:"amount_left"`
	Category         string  `json:"category"`
	CompletionOn     int64   `json:"completion_on"`
	ContentPath      string  `json:"content_path"`
	DlSpeed          int64   `json:"dlspeed"`
	ETA              int64   `json:"eta"`
	Hash             string  `json:"hash"`
	InfohashV1       string  `json:"infohash_v1"`
	InfohashV2       string  `json:"infohash_v2"`
	MaxRatio         float64 `json:"max_ratio"`
	Name             string  `json:"name"`
	Progress         float64 `json:"progress"`
	Ratio            float64 `json:"ratio"`
	RatioLimit       float64 `json:"ratio_limit"`
	SavePath         string  `json:"save_path"`
	SeedingTime      int64   `json:"seeding_time"`
	SeedingTimeLimit int64   `json:"seeding_time_limit"`
	Size             int64   `json:"size"`
	State            string  `json:"state"`
	Tags             string  `json:"tags"`
	TotalSize        int64   `json:"total_size"`
}

// wire returns the torrent as it is now.
func (t *simTorrent) wire(now time.Time, modern bool) wireTorrent {
	p, into := t.at(now)
	state, share := t.state(now, modern), t.progress(now)
	w := wireTorrent{
		AddedOn: t.AddedOn.Unix(), Category: t.Category, ContentPath: t.contentPath(state, now), ETA: unknownETA,
		Hash: t.hash(), InfohashV1: t.V1, InfohashV2: t.V2, MaxRatio: unlimitedRatio, Name: t.Name, Progress: share,
		RatioLimit: t.RatioLimit, SavePath: t.SavePath, SeedingTimeLimit: t.SeedLimit, State: state,
		Tags: strings.Join(t.Tags, ", "), TotalSize: -1,
	}
	if p <= inMeta {
		return w // the size is unknown too
	}

	w.Size, w.TotalSize = t.Size, t.Size
	w.AmountLeft = t.Size - int64(share*float64(t.Size))
	if !t.CompletedOn.IsZero() {
		w.CompletionOn, w.Ratio = t.CompletedOn.Unix(), t.Ratio
		w.SeedingTime = int64(now.Sub(t.CompletedOn).Seconds())
	}

	if d := t.Plan.Duration; state == "downloading" && d > 0 {
		w.DlSpeed = int64(float64(t.Size) / d.Seconds())
		w.ETA = int64(max(0, d-into).Seconds())
	}
	return w
}

// link is the magnet link of the torrent.
func (t *simTorrent) link() string {
	var parts []string
	if t.V1 != "" {
		parts = append(parts, "xt=urn:btih:"+t.V1)
	}
	if t.V2 != "" {
		parts = append(parts, "xt=urn:btmh:1220"+t.V2)
	}
	return "magnet:?" + strings.Join(append(parts, "dn="+url.QueryEscape(t.Name)), "&")
}

// listTorrents answers torrents/info. It does not sort.
func (q *QBittorrent) listTorrents(r *http.Request) (any, error) {
	form, now := r.Form, q.now()
	all := q.torrents
	if hashes := form.Get("hashes"); hashes != "" {
		all = q.chosen(hashes)
	}

	// An empty category or tag selects the torrents that have none.
	category, tag := form.Get("category"), form.Get("tag")
	list := make([]wireTorrent, 0, len(all))
	for _, t := range all {
		if !t.shown(now) || form.Has("category") && t.Category != category ||
			form.Has("tag") && (tag == "" && len(t.Tags) > 0 || tag != "" && !slices.Contains(t.Tags, tag)) {
			continue
		}
		list = append(list, t.wire(now, q.modern()))
	}
	return list, nil
}

// listFiles answers torrents/files: what a test has said, else one file with the torrent's name.
func (q *QBittorrent) listFiles(r *http.Request) (any, error) {
	found := q.chosen(r.Form.Get("hash"))
	if len(found) != 1 {
		return nil, &sim.Problem{Status: http.StatusNotFound}
	}
	if files := found[0].Files; files != nil {
		return files, nil
	}
	return []TorrentFile{{Name: found[0].Name, Size: found[0].Size, Priority: 1}}, nil
}

// mainData answers sync/maindata with the state of the server. It reports whether this is a first call, whose answer
// the real program fills with everything.
func (q *QBittorrent) mainData(r *http.Request) (any, error) {
	rid, _ := strconv.ParseInt(r.Form.Get("rid"), 10, 64)
	last := q.requestID
	q.requestID++
	return map[string]any{
		"rid": q.requestID, "full_update": rid == 0 || rid != last,
		"server_state": map[string]any{"free_space_on_disk": q.options.FreeSpace},
	}, nil
}
