package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/lifecycle"
)

// TestNothingSecretIsTold runs the service with successes and failures. It then searches all logs, histories and
// answers of the API for secrets.
func TestNothingSecretIsTold(t *testing.T) {
	t.Parallel()
	const chat = 777000123
	s := newRig(t, nil)
	s.startWorker()
	s.telegram.SendMessage(1, "/start")
	s.startAPI()
	_, token := s.apiUser("Planted Person", chat)
	_, stranger := s.apiUser("Another Person", chat+1)

	for i, c := range []struct {
		telegram, yandex *sim.Fault
		state            lifecycle.DeliveryState
	}{
		{state: lifecycle.DeliveryDelivered},
		{telegram: &sim.Fault{Kind: "500", Times: 3}, state: lifecycle.DeliveryFailed},
		{telegram: &sim.Fault{Kind: "cut", AfterBytes: 1000, Times: 1}, state: lifecycle.DeliveryDelivered},
		{telegram: &sim.Fault{Kind: "lost_answer", Times: 1}, state: lifecycle.DeliveryFailed},
		{telegram: &sim.Fault{Kind: "blocked", Times: 1}, state: lifecycle.DeliveryFailed},
		{telegram: &sim.Fault{Kind: "429", RetryAfter: 1, Times: 1}, state: lifecycle.DeliveryDelivered},
		{yandex: &sim.Fault{Match: "GET /download/", Kind: "cut", AfterBytes: 1000, Times: 1}, state: lifecycle.DeliveryDelivered},
		{yandex: &sim.Fault{Match: "resources", Kind: "500", Times: 3}, state: lifecycle.DeliveryFailed},
		{yandex: &sim.Fault{Match: "resources", Kind: "401", Times: 1}, state: lifecycle.DeliveryDelivered},
	} {
		name := "planted-file-" + string(rune('a'+i)) + ".bin"
		s.file(name, 4<<20)
		fileID := s.listedFile(token, name)
		if c.telegram != nil {
			c.telegram.Match = "sendDocument"
			s.telegram.AddFault(*c.telegram)
		}

		if c.yandex != nil {
			s.yandex.AddFault(*c.yandex)
		}

		path := "/v1/deliveries/" + s.call(
			"POST", "/v1/deliveries", token, map[string]any{"file_id": fileID}, "Idempotency-Key", name,
		).want(t, 201)["id"].(string)

		s.eventually(30*time.Second, name+" ends "+string(c.state), func() bool {
			return s.call("GET", path, token, nil).want(t, 200)["state"] == string(c.state)
		})
		s.telegram.ClearFaults()
		s.yandex.ClearFaults()
		s.call("GET", path, stranger, nil).want(t, 404)
	}

	// Bot API and storage that cannot be reached, and requests that the API refuses.
	s.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "cut", Times: 2})
	s.telegram.SendMessage(chat, "/files")
	s.telegram.SendMessage(chat, "/status")
	s.call("GET", "/v1/status", token, nil).want(t, 403)
	s.call("GET", "/v1/status", adminToken, nil).want(t, 200)
	s.call("GET", "/v1/files?path=/", "sc_wrong-token", nil).want(t, 401)
	time.Sleep(time.Second)

	technical := []string{
		botToken, clientSecret, refreshToken, adminToken, "aplantedbottoken", "/download/", "OAuth ", "Bearer ",
	}

	personal := []string{"777000123", "Planted Person", "planted-file"}
	search(t, "the logs", s.log.String(), slices.Concat(technical, personal, []string{token, stranger}))
	search(t, "the histories", s.histories("Delivery"), slices.Concat(technical, personal, []string{token}))
	search(t, "the answers", s.answers.text.String(), append(technical, "127.0.0.1", "disk:", ".go:", "pgx", "SQLSTATE"))
}

// search fails the test when text contains one of the secrets, in any letter case.
func search(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	if len(text) < 1000 {
		t.Errorf("%s are too short to prove anything", where)
	}
	lower := strings.ToLower(text)
	for _, secret := range secrets {
		if at := strings.Index(lower, strings.ToLower(secret)); at >= 0 {
			t.Errorf("%s tell %q: …%s…", where, secret, text[max(0, at-200):min(len(text), at+100)])
		}
	}
}

// TestNoDownloadIsTold is the same for downloads: their links, names, places and hashes, and qBittorrent's password.
func TestNoDownloadIsTold(t *testing.T) {
	t.Parallel()
	night.Only(t)
	const chat = 777000124
	stand := newStandIn(t)
	l := newLibrary(
		t, stand,
		map[string]string{"STAGECOACH_QBITTORRENT_SAVE_PATH": "/planted-folder"},
	)

	l.startWorker()
	l.telegram.SendMessage(1, "/start")
	l.startAPI()
	_, token := l.apiUser("Planted Person", chat)
	_, stranger := l.apiUser("Another Person", chat+1)

	var hashes []string
	serial := 0
	ask := func(link string) (path string) {
		t.Helper()
		book := l.call(
			"POST", "/v1/books", token, map[string]any{"title": "Planted Title", "author": "Planted Author"},
		).want(t, 201)["id"]

		job := l.call(
			"POST", "/v1/downloads", token,
			map[string]any{"book_id": book, "media_type": "text", "source": "planted-indexer", "source_url": link},
		).want(t, 201)

		path = "/v1/downloads/" + job["id"].(string)
		l.call("GET", path, stranger, nil).want(t, 404)
		return path
	}

	made := func() *torrentsim.SeededTorrent {
		serial++
		torrent := l.torrent(
			fmt.Sprintf("planted-torrent-%d.epub", serial), torrentsim.TorrentSpec{NoSeed: true, Kind: torrentsim.TorrentHybrid},
		)
		hashes = append(hashes, torrent.InfohashV1, torrent.InfohashV2, torrent.InfohashV2[:40])
		return torrent
	}

	becomes := func(path, status string) {
		t.Helper()
		l.eventually(
			time.Minute, path+" is "+status,
			func() bool { return l.call("GET", path, token, nil).want(t, 200)["status"] == status },
		)
	}

	broken := "error"
	for i, match := range []string{"/auth/login", "/app/defaultSavePath", "/torrents/add", "/torrents/info", "/torrents/delete", "/torrents/setCategory", "Tags"} {
		// each further one doubles the pause
		stand.AddFault(sim.Fault{Match: match, Kind: []string{"500", "cut", "timeout"}[i%3], Times: 1})
	}

	for _, c := range []struct {
		magnet  bool
		happens func(*torrentsim.SeededTorrent, string)
		ends    string
	}{
		{false, func(torrent *torrentsim.SeededTorrent, _ string) { stand.release(l, torrent) }, "completed"},
		{true, func(torrent *torrentsim.SeededTorrent, _ string) { stand.release(l, torrent) }, "completed"},
		{false, func(_ *torrentsim.SeededTorrent, path string) {
			becomes(path, "downloading")
			l.eventually(time.Minute, "it is canceled", func() bool { // qBittorrent may not answer
				status := l.call("POST", path+"/cancel", token, map[string]any{}).status
				return status == 200 || status == 409
			})
		}, "canceled"},
		{false, func(torrent *torrentsim.SeededTorrent, path string) {
			becomes(path, "downloading")
			must(t, stand.Remove(torrent.Name))
		}, "failed"},
		{false, func(torrent *torrentsim.SeededTorrent, path string) {
			becomes(path, "downloading")
			must(t, stand.Change(torrent.Name, torrentsim.TorrentChange{State: &broken}))
			l.eventually(time.Minute, "it goes on", func() bool {
				there := l.find(torrent)
				return there != nil && string(there.State) != broken
			})
			must(t, stand.Change(torrent.Name, torrentsim.TorrentChange{State: &broken}))
		}, "failed"},
	} {
		torrent := made()
		link := torrent.URL + "?apikey=planted-key"
		if c.magnet {
			link = torrent.Magnet() + "&tr=http%3A%2F%2Fplanted-tracker.example%2Fannounce%3Fpasskey%3Dplanted-key"
		}
		path := ask(link)
		c.happens(torrent, path)
		becomes(path, c.ends)
	}

	// Sources that do not answer, or answer something else; a torrent of another installation.
	l.seed.AddFault(sim.Fault{Match: "/planted-away", Kind: "503", Times: 1})
	l.seed.AddFault(sim.Fault{Match: "/planted-cut", Kind: "cut", Times: 1})
	theirs := made()
	l.addByHand(theirs, map[string]string{"category": foreignCategory, "tags": "theirs"})

	for _, link := range []string{
		l.seed.URL + "/planted-nothing?apikey=planted-key", l.seed.URL + "/planted-away?apikey=planted-key",
		l.seed.URL + "/planted-cut?apikey=planted-key",
		"http://planted-host.invalid/planted-nothing?apikey=planted-key", l.seed.URL + "/_/requests?apikey=planted-key",
		theirs.Magnet(),
	} {
		path := ask(link)
		if strings.Contains(link, ".invalid") { // the name lookup takes a while
			l.eventually(
				time.Minute, "it waits for its source",
				func() bool { return l.call("GET", path, token, nil).want(t, 200)["last_error"] != nil },
			)
			l.call("POST", path+"/cancel", token, map[string]any{}).want(t, 200)
			continue
		}
		becomes(path, "failed")
	}

	l.call(
		"POST", "/v1/downloads", token,
		map[string]any{"book_id": "1", "media_type": "text", "source_url": "ftp://planted-host/planted-key"},
	).want(t, 422)
	// A qBittorrent that is unavailable, and one that refuses the worker's login.
	away, locked := made(), made()
	path := ask(away.URL + "?apikey=planted-key")
	becomes(path, "downloading")
	stand.kill()
	l.noted(false)
	l.call("POST", path+"/cancel", token, map[string]any{}).want(t, 503)
	stand.restart(t)
	becomes(path, "canceled")
	l.worker.stop()
	l.env["STAGECOACH_QBITTORRENT_PASSWORD"] = "another-" + qbittorrentPassword
	l.startWorker()
	ask(locked.URL + "?apikey=planted-key")
	l.noted(false)
	l.telegram.SendMessage(chat, "/downloads")
	time.Sleep(time.Second)

	technical := []string{
		qbittorrentPassword, "planted-key", "planted-tracker", "planted-host", "magnet:", "/torrents/planted",
		"planted-nothing", "planted-away", "planted-cut", "Bearer ",
	}

	personal := []string{
		fmt.Sprint(chat), "Planted Person", "Planted Title", "Planted Author", "planted-torrent", "planted-folder",
		"planted-indexer",
	}

	all := slices.Concat(technical, personal, hashes, []string{token, stranger})
	search(t, "the logs", l.log.String(), all)
	search(t, "the histories", l.histories("Download")+l.histories("DownloadSync"), all)
	search(
		t, "the answers", l.answers.text.String(),
		[]string{qbittorrentPassword, botToken, ".go:", "pgx", "SQLSTATE", "dial tcp"},
	)
}

// histories returns the histories of all workflows of a type as text.
func (s *rig) histories(workflowType string) string {
	s.Helper()
	var all strings.Builder
	list, err := s.client.ListWorkflow(
		s.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: `WorkflowType="` + workflowType + `"`},
	)

	must(s, err)
	for _, execution := range list.Executions {
		all.WriteString(execution.String())
		events := s.client.GetWorkflowHistory(
			s.Context(), execution.Execution.WorkflowId, execution.Execution.RunId, false, 0,
		)
		for events.HasNext() {
			event, err := events.Next()
			must(s, err)
			all.WriteString(event.String())
		}
	}

	return all.String()
}
