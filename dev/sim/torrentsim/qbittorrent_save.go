package torrentsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/anacrolix/torrent/metainfo"
)

// savedFile is a file of a torrent, and its URL at the web seed.
type savedFile struct{ Path, URL string }

// filesOf lists the files of a .torrent file that names a web seed.
func filesOf(file *metainfo.MetaInfo, info metainfo.Info) (files []savedFile) {
	if len(file.UrlList) == 0 {
		return nil
	}
	for _, name := range namesIn(info) {
		if filepath.IsLocal(name) {
			files = append(files, savedFile{name, file.UrlList[0] + name})
		}
	}
	return files
}

// namesIn lists the files of a torrent, relative to the save path.
func namesIn(info metainfo.Info) (names []string) {
	for _, f := range info.UpvertedFiles() {
		if info.Length > 0 || info.HasV2() && slices.Equal(f.BestPath(), []string{info.BestName()}) { // there is no folder
			return []string{info.BestName()}
		}
		names = append(names, path.Join(append([]string{info.BestName()}, f.BestPath()...)...))
	}
	return names
}

// begin fetches a torrent's files if they are wanted; q.mu must be held. Until they have arrived the torrent is not
// complete, whatever its plan says: one without a web seed makes no progress.
func (q *QBittorrent) begin(t *simTorrent) {
	if t.Lacks = q.options.Save && t.CompletedOn.IsZero(); !t.Lacks || len(t.From) == 0 {
		return
	}

	q.fetching.Go(func() {
		for q.fetch(t.SavePath, t.From) != nil {
			select {
			case <-time.After(time.Second):
			case <-q.closing.Done():
				return
			}
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		t.Lacks = false
	})
}

func (q *QBittorrent) fetch(place string, files []savedFile) error {
	for _, file := range files {
		if err := fetchTo(q.closing, file.URL, filepath.Join(place, file.Path)); err != nil {
			return err
		}
	}
	return nil
}

func fetchTo(ctx context.Context, address, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("web seed: %s", answer.Status)
	}

	into, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(into, answer.Body)
	return errors.Join(err, into.Close())
}

// discard removes the files of a torrent; q.mu must be held.
func (q *QBittorrent) discard(t *simTorrent) {
	if q.options.Save && len(t.From) > 0 && filepath.IsLocal(t.Name) {
		_ = os.RemoveAll(filepath.Join(t.SavePath, t.Name))
	}
}
