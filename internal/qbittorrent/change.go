package qbittorrent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	qbt "github.com/autobrr/go-qbittorrent"

	"stagecoach/internal/fault"
)

// NewTorrent is a torrent to add: its file, or a magnet link.
type NewTorrent struct {
	File     []byte
	Magnet   string
	Tag      string
	SavePath string // in qBittorrent's file system
}

// Add adds a torrent to the active category. PROVIDER_REJECTED: qBittorrent already has it, cannot read it, or is still
// starting; it does not report which.
func (c *Client) Add(ctx context.Context, n NewTorrent) error {
	// Nothing depends on qBittorrent's own settings: neither the files' path, nor when the torrent is removed.
	options := func() map[string]string {
		return map[string]string{
			"category": c.o.ActiveCategory, "tags": n.Tag, "savepath": n.SavePath, "autoTMM": "false", "useDownloadPath": "false",
			"contentLayout": "Original", "paused": "false", "stopped": "false", "stopCondition": "None",
			"ratioLimit": "-1", "seedingTimeLimit": "-1", "inactiveSeedingTimeLimit": "-1",
		}
	}

	return c.call(ctx, func() (err error) {
		var answer *qbt.TorrentAddResponse
		if n.File != nil {
			answer, err = c.qbt.AddTorrentFromMemoryCtx(ctx, n.File, options())
		} else {
			answer, err = c.qbt.AddTorrentFromUrlCtx(ctx, n.Magnet, options())
		}
		if err == nil && answer.FailureCount > 0 {
			return statusError(409)
		}
		return err
	})
}

// Adopt adds a tag to a torrent of ours, resumes it, and makes it active again. An old torrent may have lost its files
// without qBittorrent noticing: the files are rechecked, and missing parts downloaded again.
func (c *Client) Adopt(ctx context.Context, t Torrent, tag string) error {
	if !c.Ours(t) {
		return foreign()
	}

	old := t.State == Lost || t.State == Complete && !c.Active(t)
	err := c.call(ctx, func() error { return c.qbt.AddTagsCtx(ctx, []string{t.ID}, tag) })
	if err == nil && (old || t.State != Complete && t.State != Active) {
		err = c.Resume(ctx, t)
	}

	if err == nil && old { // before a watcher sees it, and again if this call is repeated
		err = c.recheck(ctx, t)
	}

	if err == nil {
		err = c.Activate(ctx, t)
	}
	return err
}

const (
	// qBittorrent shows a change within 1.5 s, unless its administrator has set a longer refresh
	refresh     = 5 * time.Second
	refreshPoll = 200 * time.Millisecond
)

// recheck makes qBittorrent recheck a torrent's files. Until its next refresh qBittorrent shows the old state, so that
// a watcher could consider a torrent without files complete. recheck therefore returns once another state shows, or
// after refresh, when the shown state is right.
func (c *Client) recheck(ctx context.Context, t Torrent) error {
	if err := c.call(ctx, func() error { return c.qbt.RecheckCtx(ctx, []string{t.ID}) }); err != nil {
		return err
	}

	for refreshed := time.Now().Add(refresh); time.Now().Before(refreshed); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(refreshPoll):
		}

		listed, err := c.torrents(
			ctx, qbt.TorrentFilterOptions{Hashes: []string{t.ID}}, func(found Torrent) bool { return found.ID == t.ID },
		)
		if err != nil {
			return err
		}
		if len(listed) == 0 || listed[0].State != t.State {
			return nil
		}
	}

	return nil
}

// Resume resumes a torrent of ours.
func (c *Client) Resume(ctx context.Context, t Torrent) error {
	if !c.Ours(t) {
		return foreign()
	}
	c.resume.Lock()
	defer c.resume.Unlock()
	return c.call(ctx, func() error { return c.qbt.ResumeCtx(ctx, []string{t.ID}) })
}

// Stop stops torrents of ours.
func (c *Client) Stop(ctx context.Context, torrents []Torrent) error {
	if len(torrents) == 0 {
		return nil
	}
	c.resume.Lock()
	defer c.resume.Unlock()
	return c.call(ctx, func() error { return c.qbt.StopCtx(ctx, c.ids(torrents)) })
}

// Activate puts a torrent of ours into the active category.
func (c *Client) Activate(ctx context.Context, t Torrent) error {
	if t.Category == c.o.ActiveCategory {
		return nil
	}
	return c.setCategory(ctx, c.ids([]Torrent{t}), c.o.ActiveCategory)
}

// Finish puts torrents of ours into a done category, in one request: that of a medium, or the one for no medium.
func (c *Client) Finish(ctx context.Context, torrents []Torrent, medium string) error {
	return c.setCategory(ctx, c.ids(torrents), c.doneCategory(medium))
}

// setCategory gives torrents a category, and creates it if missing.
func (c *Client) setCategory(ctx context.Context, ids []string, category string) error {
	if len(ids) == 0 {
		return nil
	}

	set := func() error {
		return c.call(ctx, func() error { return c.qbt.SetCategoryCtx(ctx, ids, category) })
	}

	err := set()
	if fault.CodeOf(err) != fault.ProviderRejected {
		return err
	}

	made := c.call(ctx, func() error { return c.qbt.CreateCategoryCtx(ctx, category, "") })
	if made != nil && fault.CodeOf(made) != fault.ProviderRejected { // it may exist by now
		return made
	}
	return set()
}

// Delete removes a torrent of ours, with its files unless keepFiles.
func (c *Client) Delete(ctx context.Context, t Torrent, keepFiles bool) error {
	if !c.Ours(t) {
		return foreign()
	}
	return c.call(ctx, func() error { return c.qbt.DeleteTorrentsCtx(ctx, []string{t.ID}, !keepFiles) })
}

// DeleteTags removes tags from torrents of ours. It also removes them from qBittorrent's list of tags, where they would
// stay forever, unless a torrent of another owner has them: another installation also numbers its jobs from 1.
func (c *Client) DeleteTags(ctx context.Context, tags ...string) error {
	var unused []string
	for _, tag := range tags {
		tagged, err := c.torrents(ctx, qbt.TorrentFilterOptions{Tag: tag}, func(t Torrent) bool { return t.HasTag(tag) })
		if err != nil {
			return err
		}

		ours := c.ids(tagged)
		if len(ours) == len(tagged) {
			unused = append(unused, tag)
			continue
		}
		if len(ours) == 0 {
			continue
		}
		if err := c.call(ctx, func() error { return c.qbt.RemoveTagsCtx(ctx, ours, tag) }); err != nil {
			return err
		}
	}

	if len(unused) == 0 {
		return nil
	}
	return c.call(ctx, func() error { return c.qbt.DeleteTagsCtx(ctx, unused) })
}

// ids returns the ids of the torrents that are ours.
func (c *Client) ids(torrents []Torrent) []string {
	var ids []string
	for _, t := range torrents {
		if c.Ours(t) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// Queues reports whether qBittorrent lets only some torrents be active at a time.
func (c *Client) Queues(ctx context.Context) (bool, error) {
	preferences, err := ask(ctx, c, c.qbt.GetAppPreferencesCtx)
	return preferences.QueueingEnabled, err
}

// Version returns qBittorrent's version, such as "v4.5.2".
func (c *Client) Version(ctx context.Context) (string, error) {
	return ask(ctx, c, c.qbt.GetAppVersionCtx)
}

// DefaultSavePath returns qBittorrent's folder for torrents without their own path.
func (c *Client) DefaultSavePath(ctx context.Context) (string, error) {
	path, err := ask(ctx, c, c.qbt.GetDefaultSavePathCtx)
	return strings.TrimSpace(path), err
}

// freeSpace stores qBittorrent's last state, after which it sends only changes.
type freeSpace struct {
	mutex sync.Mutex
	rid   int64
	bytes int64
}

// FreeSpace returns how many bytes are free in qBittorrent's default folder; negative: unknown. A session's first
// answer may be 0 before qBittorrent has measured (4.5.2, seen 2026-11-22): such a 0 counts only if it stays.
func (c *Client) FreeSpace(ctx context.Context) (int64, error) {
	c.space.mutex.Lock()
	defer c.space.mutex.Unlock()

	unmeasured := false
	for deadline := time.Now().Add(refresh); ; {
		first, err := c.readFreeSpace(ctx)
		unmeasured = (unmeasured || first) && c.space.bytes == 0
		if err != nil || !unmeasured || time.Now().After(deadline) {
			return c.space.bytes, err
		}

		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(refreshPoll):
		}
	}
}

// readFreeSpace reads the free space once. first means that this is a session's first answer.
func (c *Client) readFreeSpace(ctx context.Context) (first bool, err error) {
	err = c.call(ctx, func() error {
		data, raw, err := c.qbt.SyncMainDataCtxWithRaw(ctx, c.space.rid)
		if err != nil {
			return err
		}

		server, _ := raw["server_state"].(map[string]any)
		if free, told := server["free_space_on_disk"].(float64); told {
			c.space.bytes = int64(free)
		} else if data.FullUpdate {
			return errors.New("the free space is not told")
		}

		c.space.rid, first = data.Rid, data.FullUpdate
		return nil
	})
	return first, err
}
