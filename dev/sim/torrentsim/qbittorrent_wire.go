package torrentsim

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unknownETA is the Web API's value for an unknown time: 100 days.
const unknownETA = 8_640_000

// wireTorrent is a torrent as torrents/info shows it.
type wireTorrent struct {
	AddedOn           int64   `json:"added_on"`
	AmountLeft        int64   `json:"amount_left"`
	AutoTMM           bool    `json:"auto_tmm"`
	Availability      float64 `json:"availability"`
	Category          string  `json:"category"`
	Completed         int64   `json:"completed"`
	CompletionOn      int64   `json:"completion_on"`
	ContentPath       string  `json:"content_path"`
	DlLimit           int64   `json:"dl_limit"`
	DlSpeed           int64   `json:"dlspeed"`
	DownloadPath      string  `json:"download_path"`
	Downloaded        int64   `json:"downloaded"`
	DownloadedSession int64   `json:"downloaded_session"`
	ETA               int64   `json:"eta"`
	FirstLastPiece    bool    `json:"f_l_piece_prio"`
	ForceStart        bool    `json:"force_start"`
	Hash              string  `json:"hash"`
	InfohashV1        string  `json:"infohash_v1"`
	InfohashV2        string  `json:"infohash_v2"`
	LastActivity      int64   `json:"last_activity"`
	MagnetURI         string  `json:"magnet_uri"`
	MaxRatio          float64 `json:"max_ratio"`
	MaxSeedingTime    int64   `json:"max_seeding_time"`
	Name              string  `json:"name"`
	NumComplete       int64   `json:"num_complete"`
	NumIncomplete     int64   `json:"num_incomplete"`
	NumLeechs         int64   `json:"num_leechs"`
	NumSeeds          int64   `json:"num_seeds"`
	Priority          int64   `json:"priority"`
	Progress          float64 `json:"progress"`
	Ratio             float64 `json:"ratio"`
	RatioLimit        float64 `json:"ratio_limit"`
	SavePath          string  `json:"save_path"`
	SeedingTime       int64   `json:"seeding_time"`
	SeedingTimeLimit  int64   `json:"seeding_time_limit"`
	SeenComplete      int64   `json:"seen_complete"`
	Sequential        bool    `json:"seq_dl"`
	Size              int64   `json:"size"`
	State             string  `json:"state"`
	SuperSeeding      bool    `json:"super_seeding"`
	Tags              string  `json:"tags"`
	TimeActive        int64   `json:"time_active"`
	TotalSize         int64   `json:"total_size"`
	Tracker           string  `json:"tracker"`
	TrackersCount     int64   `json:"trackers_count"`
	UpLimit           int64   `json:"up_limit"`
	Uploaded          int64   `json:"uploaded"`
	UploadedSession   int64   `json:"uploaded_session"`
	UpSpeed           int64   `json:"upspeed"`

	*wireModern // what version 5 added
}

// wireModern are the fields that version 5 added.
type wireModern struct {
	Comment              string  `json:"comment"`
	InactiveSeedingLimit int64   `json:"inactive_seeding_time_limit"`
	MaxInactiveSeeding   int64   `json:"max_inactive_seeding_time"`
	HasMetadata          bool    `json:"has_metadata"`
	Popularity           float64 `json:"popularity"`
	Private              bool    `json:"private"`
	Reannounce           int64   `json:"reannounce"`
	RootPath             string  `json:"root_path"`
}

// wire returns the torrent as it is now.
func (t *simTorrent) wire(now time.Time, modern bool) wireTorrent {
	p, into := t.at(now)
	state, share := t.state(now, modern), t.progress(now)
	w := wireTorrent{
		AddedOn: t.AddedOn.Unix(), Category: t.Category, ContentPath: t.contentPath(state, now), ETA: unknownETA,
		Hash: t.hash(), InfohashV1: t.V1, InfohashV2: t.V2, LastActivity: now.Unix(), MagnetURI: t.link(),
		MaxRatio: unlimitedRatio, MaxSeedingTime: -1, Name: t.Name, Progress: share, RatioLimit: t.RatioLimit,
		SavePath: t.SavePath, SeedingTimeLimit: t.SeedLimit, State: state, Tags: strings.Join(t.Tags, ", "),
		TimeActive: int64(t.elapsed(now).Seconds()), TotalSize: -1,
	}

	if modern {
		w.wireModern = &wireModern{InactiveSeedingLimit: globalRatio, MaxInactiveSeeding: -1, HasMetadata: p > inMeta}
	}

	if p <= inMeta {
		return w // the size is unknown too
	}

	w.Size, w.TotalSize = t.Size, t.Size
	w.Completed = int64(share * float64(t.Size))
	w.AmountLeft = t.Size - w.Completed
	w.Downloaded, w.DownloadedSession = w.Completed, w.Completed

	if !t.CompletedOn.IsZero() {
		w.CompletionOn, w.SeenComplete = t.CompletedOn.Unix(), t.CompletedOn.Unix()
		w.SeedingTime = int64(now.Sub(t.CompletedOn).Seconds())
	} else {
		w.Priority = 1
	}

	if t.Plan.Moving != 0 {
		w.DownloadPath = t.SavePath + "/incomplete"
	}

	if d := t.Plan.Duration; state == "downloading" && d > 0 {
		w.DlSpeed = int64(float64(t.Size) / d.Seconds())
		w.ETA = int64((d - into).Seconds())
		w.NumSeeds, w.NumComplete, w.Availability = 1, 1, 1+share
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

// qbFilters are the groups of states that torrents/info knows.
var qbFilters = map[string]func(state string) bool{
	"all":         func(string) bool { return true },
	"downloading": func(s string) bool { return strings.HasSuffix(s, "DL") || s == "downloading" },
	"completed":   seeding,
	"seeding":     seeding,
	"paused":      stopped,
	"stopped":     stopped,
	"resumed":     func(s string) bool { return !stopped(s) },
	"running":     func(s string) bool { return !stopped(s) },
	"stalled":     func(s string) bool { return strings.HasPrefix(s, "stalled") },
	"errored":     func(s string) bool { return s == holdError || s == holdMissing },
}

func seeding(s string) bool { return strings.HasSuffix(s, "UP") || s == "uploading" }

func stopped(s string) bool { return strings.HasPrefix(s, "paused") || strings.HasPrefix(s, "stopped") }

// listTorrents answers torrents/info. It does not sort.
func (q *QBittorrent) listTorrents(r *http.Request) (any, error) {
	form, now := r.Form, q.now()
	all := q.torrents
	if hashes := form.Get("hashes"); hashes != "" {
		all = q.chosen(hashes)
	}

	inState := qbFilters["all"]
	if name := form.Get("filter"); qbFilters[name] != nil {
		inState = qbFilters[name]
	}

	// An empty category or tag selects the torrents that have none.
	category, tag := form.Get("category"), form.Get("tag")
	list := make([]wireTorrent, 0, len(all))
	for _, t := range all {
		if !t.shown(now) || form.Has("category") && t.Category != category ||
			form.Has("tag") && (tag == "" && len(t.Tags) > 0 || tag != "" && !slices.Contains(t.Tags, tag)) ||
			!inState(t.state(now, q.modern())) {
			continue
		}
		list = append(list, t.wire(now, q.modern()))
	}

	if form.Get("reverse") == "true" {
		slices.Reverse(list)
	}

	offset, _ := strconv.Atoi(form.Get("offset"))
	limit, _ := strconv.Atoi(form.Get("limit"))
	list = list[min(max(offset, 0), len(list)):]
	if limit > 0 {
		list = list[:min(limit, len(list))]
	}
	return list, nil
}

// qbBuild are the libraries that the program was built with.
var qbBuild = map[string]any{
	"bitness": 64, "boost": "1.74.0", "libtorrent": "2.0.8.0", "openssl": "3.0.19", "qt": "5.15.8", "zlib": "1.2.13",
}

// transfer is the total speed of all torrents.
func (q *QBittorrent) transfer() map[string]any {
	var speed, data int64
	now := q.now()
	for _, t := range q.torrents {
		w := t.wire(now, q.modern())
		speed += w.DlSpeed
		data += w.DownloadedSession
	}

	return map[string]any{
		"connection_status": "connected", "dht_nodes": 0, "dl_info_data": data, "dl_info_speed": speed, "dl_rate_limit": 0,
		"up_info_data": 0, "up_info_speed": 0, "up_rate_limit": 0,
	}
}

// mainData answers sync/maindata: everything to a first call, and after that only the state of the server, as if no
// torrent had changed.
func (q *QBittorrent) mainData(r *http.Request) (any, error) {
	server := q.transfer()
	for name, value := range map[string]any{
		"alltime_dl": server["dl_info_data"], "alltime_ul": 0, //nolint:misspell // names of the program
		"average_time_queue": 0,
		"free_space_on_disk": q.options.FreeSpace, "global_ratio": "0.00", "queued_io_jobs": 0, "queueing": true,
		"read_cache_hits": "0", "read_cache_overload": "0", "refresh_interval": 1500, "total_buffers_size": 0,
		"total_peer_connections": 0, "total_queued_size": 0, "total_wasted_session": 0, "use_alt_speed_limits": false,
		"write_cache_overload": "0",
	} {
		server[name] = value
	}

	rid, _ := strconv.ParseInt(r.Form.Get("rid"), 10, 64)
	last := q.requestID
	q.requestID++
	data := map[string]any{"rid": q.requestID, "server_state": server}
	if rid != 0 && rid == last {
		return data, nil
	}

	now, torrents := q.now(), make(map[string]wireTorrent, len(q.torrents))
	for _, t := range q.torrents {
		if t.shown(now) {
			torrents[t.hash()] = t.wire(now, q.modern())
		}
	}

	data["full_update"], data["torrents"], data["trackers"] = true, torrents, map[string]any{}
	data["categories"], data["tags"] = q.categories(), append([]string{}, q.tags...)
	return data, nil
}

// preferences are those that a client may read before using the program.
func (q *QBittorrent) preferences() map[string]any {
	action := map[bool]int{false: 0, true: 1}[q.options.RemoveAfter > 0] // 1: remove the torrent
	return map[string]any{
		"auto_tmm_enabled": false, "bypass_local_auth": false, "dht": false, "listen_port": 6881, "locale": "en",
		"max_active_downloads": 3, "max_active_torrents": 5, "max_active_uploads": 3,
		"max_ratio": 0, "max_ratio_act": action, "max_ratio_enabled": action == 1,
		"max_seeding_time": -1, "max_seeding_time_enabled": false, "preallocate_all": false, "queueing_enabled": true,
		"save_path": q.options.SavePath, "temp_path": q.options.SavePath + "/temp", "temp_path_enabled": false,
		"web_ui_ban_duration": int64(q.options.BanDuration.Seconds()), "web_ui_max_auth_fail_count": maxFailures,
		"web_ui_session_timeout": 3600, "web_ui_username": q.options.Username,
	}
}
