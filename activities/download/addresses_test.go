package download

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fetch"
	"stagecoach/internal/qbittorrent"
)

// TestPrivateAddresses adds a magnet link and a file whose addresses lead into a private network: qBittorrent gets the
// torrents without them, and the record keeps the user's input.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	var mutex sync.Mutex
	var got string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/torrents/add") {
			body, _ := io.ReadAll(r.Body)
			mutex.Lock()
			got = string(body)
			mutex.Unlock()
			r.Body = io.NopCloser(strings.NewReader(got))
		}
		s.qb.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	s.Torrents = qbittorrent.New(qbittorrent.Options{
		URL: proxy.URL, Username: "admin", Password: "adminadmin", ActiveCategory: "active", DoneCategory: "done",
	})
	s.Fetcher = fetch.New(fetch.Options{})

	const private = "http://172.18.0.5:7233/a?b"
	link := magnet(1) + "&tr=" + private + "&ws=" + private + "&xs=" + private + "&tr=udp://1.1.1.1:6969"
	byLink := s.added(link)
	if strings.Contains(got, "172.18") || !strings.Contains(got, "1.1.1.1") || s.reload(byLink).SourceURL != link {
		t.Errorf("qBittorrent got %s", got)
	}

	byFile := s.job("https://example.org/a.torrent")
	file := "d8:announce26:" + private + "13:announce-listll18:udp://1.1.1.1:6969ee4:infod6:lengthi5e4:name1:a12:piece lengthi16384e6:pieces20:ppppppppppppppppppppe" +
		"8:url-listl26:" + private + "26:" + private + "ee"
	s.must(s.Store.Downloads.SaveFile(t.Context(), byFile.ID, 1, []byte(file), "", ""))
	s.must(s.add(byFile))
	if kept, err := s.Store.Downloads.File(t.Context(), byFile.ID); err != nil || string(kept) != file {
		t.Errorf("the record has %s, %v", kept, err)
	}
	if strings.Contains(got, "172.18") || !strings.Contains(got, "1.1.1.1") {
		t.Errorf("qBittorrent got %s", got)
	}
}
