package servers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
)

// webAPI calls the Web API over plain HTTP, with a session if it has one.
type webAPI struct {
	t      *testing.T
	base   string
	client *http.Client
}

// answer is the response to a call: the status, the content type and the text.
type answer struct {
	status int
	kind   string
	text   string
}

func (a answer) String() string { return fmt.Sprintf("%d %s %q", a.status, a.kind, a.text) }

func (w webAPI) do(method, name, kind string, body io.Reader) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(testContext(w.t), method, w.base+"/api/v2/"+name, body)
	if err != nil {
		w.t.Fatal(err)
	}

	r.Header.Set("Content-Type", kind)
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}

	kind, _, _ = strings.Cut(response.Header.Get("Content-Type"), ";")
	return answer{response.StatusCode, kind, strings.TrimSpace(string(text))}
}

func (w webAPI) get(name string) answer {
	w.t.Helper()
	return w.do(http.MethodGet, name, "", nil)
}

// post sends a form, given as in a query.
func (w webAPI) post(name, form string) answer {
	w.t.Helper()
	return w.do(http.MethodPost, name, "application/x-www-form-urlencoded", strings.NewReader(form))
}

// file sends .torrent files with tags.
func (w webAPI) file(tags string, files ...[]byte) answer {
	w.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, content := range files {
		part, err := form.CreateFormFile("torrents", "name")
		if err != nil {
			w.t.Fatal(err)
		}
		_, _ = part.Write(content)
	}

	_ = form.WriteField("tags", tags)
	_ = form.WriteField("paused", "true")
	_ = form.Close()
	return w.do(http.MethodPost, "torrents/add", form.FormDataContentType(), &body)
}

// TestSimulatorMatchesQBittorrent compares the simulator with the real server, call by call.
func TestSimulatorMatchesQBittorrent(t *testing.T) {
	t.Parallel()
	server, seed := startQBittorrent(t, QBittorrentOptions{}), startWebSeed(t)
	if !strings.HasPrefix(server.Version, "4.5.") {
		t.Skipf("the simulator plays 4.5.2, but %s is installed", server.Version)
	}

	standIn, err := torrentsim.NewQBittorrent(torrentsim.QBittorrentOptions{
		Username: server.Username, Password: server.Password, SavePath: server.Downloads,
		Plan: torrentsim.TorrentPlan{Meta: torrentsim.Never, Duration: torrentsim.Never},
	})
	if err != nil {
		t.Fatal(err)
	}

	base, stop, err := sim.Start("127.0.0.1:0", standIn)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		stop()
		_ = standIn.Close()
		server.Kill() // the real server has banned this address, so that it refuses a shutdown call
	})

	jar := func() *cookiejar.Jar { j, _ := cookiejar.New(nil); return j }
	real, played := webAPI{t, server.URL, &http.Client{Jar: jar()}}, webAPI{t, base, &http.Client{Jar: jar()}}
	const magnet = "magnet:?xt=urn:btih:85ca239df1a7393a1cabf728364e54d50d5b83ba%26dn=book"
	const hash = "hashes=85ca239df1a7393a1cabf728364e54d50d5b83ba"
	hybrid := seeded(t, seed, torrentsim.TorrentSpec{Name: "h.epub", Size: 100_000, Kind: torrentsim.TorrentHybrid})

	for _, call := range []func(webAPI) answer{
		func(w webAPI) answer { return w.get("app/version") },
		func(w webAPI) answer { return w.get("torrents/info") },
		func(w webAPI) answer { return w.post("auth/login", "username="+server.Username+"&password=wrong") },
		func(w webAPI) answer {
			return w.post("auth/login", "username="+server.Username+"&password="+url.QueryEscape(server.Password))
		},
		func(w webAPI) answer { return w.post("auth/login", "username=x&password=wrong") }, // there is a session
		func(w webAPI) answer { return w.get("app/webapiVersion") },
		func(w webAPI) answer { return w.get("app/defaultSavePath") },
		func(w webAPI) answer { return w.get("torrents/info") },
		func(w webAPI) answer { return w.post("torrents/info", "hashes=zz") },
		func(w webAPI) answer { return w.get("torrents/tags") },
		func(w webAPI) answer { return w.get("torrents/nothing") },
		func(w webAPI) answer { return w.get("torrents/add") },
		func(w webAPI) answer { return w.post("torrents/add", "") },
		func(w webAPI) answer { return w.post("torrents/add", "urls=garbage") },
		func(w webAPI) answer { return w.post("torrents/add", "urls=magnet:?xt=urn:btih:zz") },
		func(w webAPI) answer {
			return w.post(
				"torrents/add", "urls="+magnet+"&category=active&tags=job-1, b&ratioLimit=-1&paused=true&savepath=below",
			)
		},
		func(w webAPI) answer { return count(w, 1) },
		func(w webAPI) answer { return w.post("torrents/add", "urls="+magnet+"&tags=job-2") },
		func(w webAPI) answer {
			return w.post("torrents/add", "urls=85CA239DF1A7393A1CABF728364E54D50D5B83BA&tags=job-2")
		},
		func(w webAPI) answer {
			return w.post("torrents/add", "urls=garbage%0Amagnet:?xt=urn:btih:"+strings.Repeat("a", 40))
		},
		func(w webAPI) answer { return count(w, 2) },
		func(w webAPI) answer { return w.post("torrents/delete", "hashes="+strings.Repeat("a", 40)) },
		func(w webAPI) answer {
			return w.post("torrents/delete", "deleteFiles=true&hashes=nope|"+strings.Repeat("A", 40))
		},
		func(w webAPI) answer { return w.file("job-3", []byte("garbage")) },
		func(w webAPI) answer { return w.file("job-3", hybrid.File) },
		func(w webAPI) answer { return count(w, 2) },
		func(w webAPI) answer { return w.file("job-4", hybrid.File) },
		func(w webAPI) answer { return w.post("torrents/addTags", hash) },
		func(w webAPI) answer { return w.post("torrents/addTags", "hashes=nope&tags=x") },
		func(w webAPI) answer { return w.post("torrents/addTags", hash+"&tags=job-5, c ,d") },
		func(w webAPI) answer { return w.post("torrents/removeTags", hash+"&tags=c") },
		func(w webAPI) answer { return w.post("torrents/deleteTags", "tags=b,c") },
		func(w webAPI) answer { return w.post("torrents/createCategory", "category=") },
		func(w webAPI) answer { return w.post("torrents/createCategory", "category=a//b") },
		func(w webAPI) answer { return w.post("torrents/createCategory", "category=done&savePath=/x") },
		func(w webAPI) answer { return w.post("torrents/createCategory", "category=done") },
		func(w webAPI) answer { return w.post("torrents/setCategory", hash) },
		func(w webAPI) answer { return w.post("torrents/setCategory", hash+"&category=nope") },
		func(w webAPI) answer { return w.post("torrents/setCategory", "hashes=nope&category=nope") },
		func(w webAPI) answer { return w.post("torrents/start", hash) },
		func(w webAPI) answer { return w.post("torrents/stop", hash) },
		func(w webAPI) answer { return w.post("torrents/pause", hash) },
		func(w webAPI) answer { return w.post("torrents/resume", "hashes=nope") },
		sortedTags,
		func(w webAPI) answer { return shown(w, "torrents/info?category=active") },
		func(w webAPI) answer { return shown(w, "torrents/info?tag=job-3") },
		func(w webAPI) answer { return shown(w, "torrents/info?category=") },
		func(w webAPI) answer { return shown(w, "torrents/info?tag=") },
		func(w webAPI) answer { return shown(w, "torrents/info?hashes="+hybrid.InfohashV1) },
		func(w webAPI) answer { return shown(w, "torrents/info?"+strings.ToUpper(hash[7:])) },
		func(w webAPI) answer {
			return w.post("torrents/delete", "deleteFiles=false&hashes="+hybrid.InfohashV1)
		},
		func(w webAPI) answer { return w.post("torrents/delete", "deleteFiles=false&hashes=all") },
		func(w webAPI) answer { return w.get("torrents/info") },
		sortedTags,
		func(w webAPI) answer { w.client.Jar = jar(); return answer{} }, // without the session
		func(w webAPI) answer { return w.post("auth/login", "username=x&password=wrong") },
		func(w webAPI) answer { return w.post("auth/login", "username=x&password=wrong") },
		func(w webAPI) answer { return w.post("auth/login", "username=x&password=wrong") },
		func(w webAPI) answer { return w.post("auth/login", "username=x&password=wrong") },
		func(w webAPI) answer { return w.post("auth/login", "username=x&password=wrong") },
		func(w webAPI) answer { return w.post("auth/login", "username=x&password=wrong") },
		func(w webAPI) answer {
			return w.post("auth/login", "username="+server.Username+"&password="+url.QueryEscape(server.Password))
		},
	} {
		if want, got := call(real), call(played); got != want {
			t.Errorf("the simulator answers %v; qBittorrent %v", got, want)
		}
	}
}

// count waits until the given number of torrents is listed. The real server responds to an add before it lists the
// torrent, and a deletion at this time has no effect.
func count(w webAPI, want int) (a answer) {
	wait.Eventually(w.t, fmt.Sprint(want, " torrents are listed"), func() bool {
		var torrents []any
		a = w.get("torrents/info")
		return json.Unmarshal([]byte(a.text), &torrents) == nil && len(torrents) == want
	})
	return answer{}
}

// sortedTags lists the tags, whose order is not fixed.
func sortedTags(w webAPI) answer {
	a := w.get("torrents/tags")
	var tags []string
	if err := json.Unmarshal([]byte(a.text), &tags); err != nil {
		w.t.Error(err)
	}
	slices.Sort(tags)
	a.text = strings.Join(tags, ",")
	return a
}

// shown lists torrents with their time-independent fields.
func shown(w webAPI, call string) answer {
	a := w.get(call)
	var torrents []map[string]any
	if err := json.Unmarshal([]byte(a.text), &torrents); err != nil {
		w.t.Error(err)
	}

	var lines []string
	for _, one := range torrents {
		line := ""
		for _, name := range []string{
			"hash", "infohash_v1", "infohash_v2", "name", "tags", "category", "size", "total_size", "progress", "amount_left",
			"save_path",
			"content_path", "ratio_limit", "seeding_time_limit", "max_ratio", "eta", "dlspeed", "completion_on",
		} {
			value := one[name]
			if name == "content_path" { // relative for a moment in the real server
				value = strings.TrimPrefix(fmt.Sprint(value), fmt.Sprint(one["save_path"], "/"))
			}
			line += fmt.Sprint(name, "=", value, " ")
		}

		lines = append(lines, line)
	}

	slices.Sort(lines)
	a.text = strings.Join(lines, "\n")
	return a
}
