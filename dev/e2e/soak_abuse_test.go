package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"stagecoach/dev/race"
	"stagecoach/dev/wait"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
)

// phase is the length of each phase of TestSoakAbuse, with the abuser and without.
const phase = time.Minute

// The p95 of the others' work beside the abuser may be at most mostTimes that without, judged from leastSamples of
// each; a difference within noise is not judged, as abuser, service and measurement share the machine.
const (
	mostTimes    = 2
	leastSamples = 40
	noise        = 100 * time.Millisecond
)

// mostMemory is how many MB the API may use beside the abuser. The race detector needs several times as much.
const mostMemory = 400

// TestSoakAbuse runs the four workloads for as long as STAGECOACH_SOAK says, every other minute beside an ordinary user
// who does everything that may harm. At the end the record, Temporal and the external systems agree. It prints how long
// the others' work took with and without the abuser, and the API's peak memory.
func TestSoakAbuse(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("STAGECOACH_SOAK"))
	if err != nil {
		t.Skip("STAGECOACH_SOAK says for how long, such as 15m")
	}

	s := newSoak(t)
	s.env["STAGECOACH_BOT"] = "true"
	raised := s.limits(nil) // the limits stop the abuser
	s.user(bystander)
	s.user(flooder)
	s.telegram.SlowDown(flooder, 5*time.Second)

	memory := map[bool]int{}
	took := map[bool]map[string][]time.Duration{false: {}, true: {}}
	answers := map[string]int{}
	for end, abused := time.Now().Add(length), false; time.Now().Before(end); abused = !abused {
		s.forgetPeak()
		stop := func() {}
		if abused {
			stop = newAbuser(s, answers).begin()
		}
		for over := time.Now().Add(phase); time.Now().Before(over); {
			s.workOnce(took[abused])
		}
		memory[abused] = max(memory[abused], s.peak())
		stop()
	}

	s.limits(raised) // the comparison needs more requests than one user may make
	s.calm()
	s.compare()

	for _, kind := range []string{"delivery", "task", "download", "purchase", "bot", "status"} {
		s.judge(kind, took[false][kind], took[true][kind])
	}
	s.Logf("the API has used at most %d MB of memory without the abuser, %d MB with", memory[false], memory[true])
	if !race.Enabled && memory[true] > mostMemory {
		s.Errorf("the API has used %d MB beside the abuser, more than %d MB", memory[true], mostMemory)
	}
	s.Logf("the abuser got %v", answers)
}

// judge prints how long one kind of work took, and fails the test if the abuser has slowed it down too much.
func (s *soak) judge(kind string, without, with []time.Duration) {
	s.Helper()
	calm, abused := p95(without), p95(with)
	verdict := "at most twice as long"
	switch {
	case min(len(without), len(with)) < leastSamples:
		verdict = "too few to judge"
	case abused > mostTimes*calm && abused-calm <= noise:
		verdict = "not judged: no more than " + noise.String() + " longer"
	case abused > mostTimes*calm:
		verdict = "TOO LONG"
		s.Errorf("the p95 of %s is %s beside the abuser, more than twice the %s without", kind, abused, calm)
	}
	s.Logf("%-9s p95 %8s without the abuser (%d), %8s with (%d): %.2f times as long, %s", kind, calm.Round(time.Millisecond),
		len(without), abused.Round(time.Millisecond), len(with), float64(abused)/float64(calm), verdict)
}

// limits restarts the API with other user limits, nil for the usual ones, and returns the previous ones.
func (s *soak) limits(wanted map[string]string) (before map[string]string) {
	s.Helper()
	before = map[string]string{}
	for _, setting := range config.Settings() {
		if strings.HasPrefix(setting.Name, "STAGECOACH_LIMIT_") {
			before[setting.Name] = s.env[setting.Name]
			delete(s.env, setting.Name)
		}
	}

	maps.Copy(s.env, wanted)
	s.api.stop()
	s.startAPI()
	return before
}

// workOnce does one piece of work of each kind and records how long each took.
func (s *soak) workOnce(took map[string][]time.Duration) {
	s.Helper()
	timed := func(kind string, work func()) {
		began := time.Now()
		work()
		took[kind] = append(took[kind], time.Since(began))
	}

	timed("delivery", func() {
		s.deliver()
		s.ended(s.deliveries[len(s.deliveries)-1])
	})
	timed("task", s.task)
	timed("download", func() {
		s.download()
		s.over(s.downloads[len(s.downloads)-1])
	})
	timed("purchase", func() {
		s.order()
		wait.Eventually(s, "a purchase is over", func() bool {
			found, err := s.store.Transactions.ByHash(s.Context(), s.orders[len(s.orders)-1])
			return err == nil && found.State == lifecycle.TransactionProcessed
		})
	})

	timed("bot", func() {
		before := s.answersIn(bystander)
		s.telegram.SendMessage(bystander, "/help")
		wait.Eventually(s, "the bot answers a bystander", func() bool { return s.answersIn(bystander) > before })
	})

	timed("status", func() { s.call("GET", "/v1/status", adminToken, nil).want(s, http.StatusOK) })
}

func p95(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)*95/100]
}

// abuser is an ordinary user who requests everything that may harm.
type abuser struct {
	*soak
	member
	site string // of the bomb and of torrents that do not fit

	pace *rate.Limiter // of all requests

	mu      sync.Mutex
	answers map[string]int // by request and status
}

// abusePace is how many requests the abuser sends per second, far more than the limits allow. The abuser shares the
// machine: at a thousand a second, sending them would take the CPU that the service needs to refuse them.
const abusePace = 300

func newAbuser(s *soak, answers map[string]int) *abuser {
	s.Helper()
	bomb := bytes.Join(
		[][]byte{
			[]byte("d4:infod5:filesl"), bytes.Repeat([]byte("de"), 5_200_000),
			[]byte("e4:name1:x12:piece lengthi16384e6:pieces0:ee"),
		},
		nil,
	)

	files := http.NewServeMux()
	for path, file := range map[string][]byte{
		"/": bomb, "/large.torrent": manyEmptyFiles(bombFiles), "/huge.torrent": oneFile(hugeLength),
	} {
		files.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.Write(file) })
	}
	server := httptest.NewServer(files)
	s.Cleanup(server.Close)
	return &abuser{soak: s, member: s.library.member("Mallory"), site: server.URL, answers: answers, pace: rate.NewLimiter(abusePace, abusePace/10)}
}

// begin starts the abuse and returns the function that ends it.
func (a *abuser) begin() (stop func()) {
	a.soak.Helper()
	over := make(chan struct{})
	var all sync.WaitGroup
	again := func(times int, what func(n int)) {
		for range times {
			all.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-over:
						return
					default:
						what(n)
					}
				}
			})
		}
	}

	again(60, func(int) { a.stream(over) })
	again(4, func(int) { a.asks("GET", "/v1/tasks?limit=200", nil) })
	again(2, func(int) { a.asks("POST", "/v1/books", map[string]any{"title": "Flood"}) })
	again(1, func(int) { a.bomb() })
	again(1, func(int) { a.loop() })
	again(2, func(n int) { a.floodTheBot(n) })
	a.worst(again, over)
	a.newest(again, over)
	return func() { close(over); all.Wait() }
}

// asks sends one request and waits a little: the machine has to serve the others too.
func (a *abuser) asks(method, path string, body any, headers ...string) answer {
	got := a.soak.call(method, path, a.token, body, headers...)
	a.note(method+" "+strings.Split(path, "?")[0], got.status)
	time.Sleep(20 * time.Millisecond)
	return got
}

// note counts a request, and keeps the pace.
func (a *abuser) note(what string, status int) {
	_ = a.pace.Wait(a.soak.Context()) // an error: the test is over
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[fmt.Sprintf("%s %d", what, status)]++
}

// stream follows the events from the very first.
func (a *abuser) stream(over <-chan struct{}) {
	request, err := http.NewRequestWithContext(a.soak.Context(), http.MethodGet, a.soak.apiURL+"/v1/events", nil)
	must(a.soak, err)
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Last-Event-ID", "0-0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()

	a.note("GET /v1/events", response.StatusCode)

	if response.StatusCode == http.StatusOK {
		go func() { <-over; response.Body.Close() }()
		buffer := make([]byte, 1<<12)
		for err == nil {
			_, err = response.Body.Read(buffer)
		}
	}

	time.Sleep(100 * time.Millisecond)
}

// bomb requests a small .torrent file with a large content.
func (a *abuser) bomb() {
	book, _ := a.asks("POST", "/v1/books", map[string]any{"title": "Bomb"}).body["id"].(string)
	if book != "" {
		a.asks(
			"POST", "/v1/downloads",
			map[string]any{"book_id": book, "media_type": "text", "source": "site", "source_url": a.site + "/" + book},
		)
	}
}

// loop requests many simultaneous deadlines, and creates tasks with the shortest deadlines.
func (a *abuser) loop() {
	a.asks(
		"POST", "/v1/workspaces",
		map[string]any{"name": "Loop", "status_deadlines": map[string]any{"NEW": 1e-9}, "stuck_release_after": 1e-9},
	)
	space, _ := a.asks("POST", "/v1/workspaces", map[string]any{
		"name": "Loop", "status_deadlines": map[string]any{"NEW": 1. / 60}, "stuck_release_after": 1,
	}).body["id"].(string)
	if space != "" {
		a.asks("POST", "/v1/tasks", map[string]any{"workspace_id": space, "title": "Round and round"})
	}
}

// floodTheBot writes as a user without an account.
func (a *abuser) floodTheBot(n int) {
	a.telegram.SendMessage(int64(900_000+n), "/start")
	time.Sleep(50 * time.Millisecond)
}
