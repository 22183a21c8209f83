package torrentsim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"stagecoach/dev/sim"
)

// needs refuses a call without one of these parameters.
func needs(form url.Values, names ...string) error {
	for _, name := range names {
		if !form.Has(name) {
			return &sim.Problem{Status: http.StatusBadRequest}
		}
	}
	return nil
}

// chosen returns the torrents that a call names by their hashes, or all; it skips unknown hashes.
func (q *QBittorrent) chosen(hashes string) []*simTorrent {
	now, wanted := q.now(), map[string]bool{}
	for hash := range strings.SplitSeq(strings.ToLower(hashes), "|") {
		wanted[hash] = true
	}

	var found []*simTorrent
	for _, t := range q.torrents {
		if t.shown(now) && (hashes == "all" || wanted[t.hash()]) {
			found = append(found, t)
		}
	}
	return found
}

// each calls do for each torrent that a call names.
func (q *QBittorrent) each(r *http.Request, do func(*simTorrent), params ...string) (any, error) {
	if err := needs(r.Form, append(params, "hashes")...); err != nil {
		return nil, err
	}
	for _, t := range q.chosen(r.Form.Get("hashes")) {
		do(t)
	}
	return "", nil
}

func (q *QBittorrent) deleteTorrents(r *http.Request) (any, error) {
	if err := needs(r.Form, "hashes", "deleteFiles"); err != nil {
		return nil, err
	}
	q.remove(q.chosen(r.Form.Get("hashes")), r.Form.Get("deleteFiles") == "true", true)
	return "", nil
}

// remove deletes torrents; their tags stay.
func (q *QBittorrent) remove(gone []*simTorrent, files, asked bool) {
	leaving := make(map[*simTorrent]bool, len(gone))
	for _, t := range gone {
		leaving[t] = true
		if files {
			q.discard(t)
		}
		if asked {
			q.deletions = append(q.deletions, TorrentDeletion{
				Hash: t.hash(), Name: t.Name, Tags: slices.Clone(t.Tags), Files: files, At: q.now(),
			})
		}
	}
	q.torrents = slices.DeleteFunc(q.torrents, func(t *simTorrent) bool { return leaving[t] })
}

func (q *QBittorrent) pauseTorrents(r *http.Request) (any, error) {
	return q.each(r, func(t *simTorrent) {
		if t.Hold != holdError && t.Hold != holdMissing {
			t.hold(holdPaused, q.now())
		}
	})
}

// resumeTorrents resumes paused and failed torrents; missing files stay missing.
func (q *QBittorrent) resumeTorrents(r *http.Request) (any, error) {
	return q.each(r, func(t *simTorrent) {
		if t.Hold == holdPaused || t.Hold == holdError {
			t.release(q.now())
		}
	})
}

// recheckTorrents checks the files again; the result shows after a while.
func (q *QBittorrent) recheckTorrents(r *http.Request) (any, error) {
	return q.each(r, func(t *simTorrent) { t.Recheck = q.now().Add(q.options.Refresh) })
}

func (q *QBittorrent) addTags(r *http.Request) (any, error) {
	tags := splitTags(r.Form.Get("tags"))
	return q.each(r, func(t *simTorrent) {
		q.knowTags(tags)
		t.Tags = append(slices.Clone(t.Tags), tags...)
		slices.Sort(t.Tags)
		t.Tags = slices.Compact(t.Tags)
	}, "tags")
}

// removeTags removes tags from torrents, all of them when the call names none.
func (q *QBittorrent) removeTags(r *http.Request) (any, error) {
	tags := splitTags(r.Form.Get("tags"))
	return q.each(r, func(t *simTorrent) { t.dropTags(tags) })
}

func (t *simTorrent) dropTags(tags []string) {
	t.Tags = slices.DeleteFunc(slices.Clone(t.Tags), func(tag string) bool {
		return len(tags) == 0 || slices.Contains(tags, tag)
	})
}

// knowTags adds tags to the known ones.
func (q *QBittorrent) knowTags(tags []string) {
	for _, tag := range tags {
		if at, known := slices.BinarySearch(q.tags, tag); !known {
			q.tags = slices.Insert(q.tags, at, tag)
		}
	}
}

// deleteTags deletes tags and removes them from the torrents.
func (q *QBittorrent) deleteTags(r *http.Request) (any, error) {
	if err := needs(r.Form, "tags"); err != nil {
		return nil, err
	}

	gone := splitTags(r.Form.Get("tags"))
	q.tags = slices.DeleteFunc(q.tags, func(tag string) bool { return slices.Contains(gone, tag) })
	for _, t := range q.torrents {
		if len(gone) > 0 && slices.ContainsFunc(t.Tags, func(tag string) bool { return slices.Contains(gone, tag) }) {
			t.dropTags(gone)
		}
	}

	return "", nil
}

func (q *QBittorrent) createCategory(r *http.Request) (any, error) {
	name := r.Form.Get("category")
	switch {
	case name == "":
		return nil, &sim.Problem{Status: http.StatusBadRequest, Text: "Category cannot be empty"}
	case !validCategory(name):
		return nil, &sim.Problem{Status: http.StatusConflict, Text: "Incorrect category name"}
	case q.category[name]:
		return nil, &sim.Problem{Status: http.StatusConflict, Text: "Unable to create category"}
	}

	q.category[name] = true
	return "", nil
}

// setCategory moves torrents to an existing category; an unknown one is a conflict only if there is a torrent to move.
func (q *QBittorrent) setCategory(r *http.Request) (any, error) {
	if err := needs(r.Form, "hashes", "category"); err != nil {
		return nil, err
	}

	name := r.Form.Get("category")
	for _, t := range q.chosen(r.Form.Get("hashes")) {
		if name != "" && !q.category[name] {
			return nil, &sim.Problem{Status: http.StatusConflict, Text: "Incorrect category name"}
		}
		t.Category = name
	}

	return "", nil
}
