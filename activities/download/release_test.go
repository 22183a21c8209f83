package download

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/simtest"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/fetch"
	"stagecoach/internal/torznab"
)

// TestReleasesOfAnIndexer hands over search results: a file that the indexer passes on, and an indexer address that
// leads to a magnet link. The key is sent to the indexer and written nowhere.
func TestReleasesOfAnIndexer(t *testing.T) {
	t.Parallel()
	const key = "planted-key-of-the-indexer"
	s := newRig(t, torrentsim.QBittorrentOptions{})
	var log bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	content, err := s.seed.Add(torrentsim.TorrentSpec{Name: "a.bin", Size: 50_000})
	s.must(err)

	prowlarr, err := torznabsim.New(torznabsim.Options{Key: key, Releases: []torznabsim.Release{
		{Title: "a file", Seeders: 2, Torrent: content.URL},
		{Title: "a magnet link", Seeders: 1, Magnet: magnet(7) + "&dn=raw blanks, 100%", Leads: true},
		{Title: "a magnet link of nothing", Magnet: "magnet:?dn=x", Leads: true},
	}})
	s.must(err)
	indexers := []torznab.Indexer{{URL: simtest.Serve(t, prowlarr) + "/1/api", Key: key}}
	found := torznab.New(torznab.Options{Indexers: indexers}).Search(t.Context(), "a", "text").Releases
	if len(found) != 3 {
		t.Fatalf("%+v", found)
	}

	// The web seed behind the indexer is irrelevant: only the indexer may be on this machine.
	s.Fetcher = fetch.New(fetch.Options{Complete: torznab.Keys(indexers).Complete})
	file, link, nothing := s.job(found[0].SourceURL), s.job(found[1].SourceURL), s.job(found[2].SourceURL)
	for range 2 {
		s.must(s.add(file))
		s.must(s.qb.Remove(file.Tag()))
	}
	s.must(s.add(link))
	if got := s.torrent(link.Tag()); got == nil || got.Hash != s.reload(link).InfohashV1 || !strings.HasSuffix(magnet(7), got.Hash) {
		t.Errorf("%+v of %+v", got, s.reload(link))
	}
	if !s.reload(link).NoMetadata || s.reload(file).NoMetadata {
		t.Error("not that alone which leads to a magnet link is without metadata")
	}
	if s.reload(file).InfohashV1 != content.InfohashV1 || s.reload(file).SourceURL != found[0].SourceURL {
		t.Errorf("%+v", s.reload(file))
	}
	if _, err := s.env.ExecuteActivity(s.FetchTorrent, nothing.ID); err == nil || s.reload(nothing).LastError != string(fault.SourceNotTorrent) {
		t.Errorf("a magnet link of nothing gave %v, and %+v", err, s.reload(nothing))
	}

	prowlarr.AddFault(sim.Fault{Match: "/download", Kind: "cut"})
	away := s.job(found[0].SourceURL)
	if err := s.add(away); err == nil || strings.Contains(err.Error(), "planted") || s.reload(away).LastError != string(fault.SourceUnavailable) {
		t.Errorf("an indexer that is away gave %v", err)
	}
	if strings.Contains(log.String(), "planted") || !strings.Contains(log.String(), "torrent not added") {
		t.Errorf("the log says %s", &log)
	}
}
