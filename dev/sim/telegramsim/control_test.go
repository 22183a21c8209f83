package telegramsim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/simtest"
	"stagecoach/dev/wait"
)

func TestFaultsAreSteeredOverHTTP(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	root := strings.TrimSuffix(base, "/bot"+testToken+"/")

	simtest.Arm(t, base, map[string]any{"match": "sendMessage", "kind": "429", "times": 2, "retry_after": 3})
	simtest.Arm(t, base, map[string]any{"match": "getMe", "kind": "slow", "delay_ms": 50})
	hello := map[string]any{"chat_id": 7, "text": "hello"}
	for range 2 {
		reply := bot(t, base, "sendMessage", hello)
		reply.wants(t, 429, "Too Many Requests: retry after 3")
		if reply.Parameters.RetryAfter != 3 {
			t.Fatal("no retry_after in the parameters")
		}
	}

	bot(t, base, "sendMessage", hello).must(t, nil)

	began := time.Now()
	bot(t, base, "getMe", nil).must(t, nil)
	if time.Since(began) < 50*time.Millisecond {
		t.Fatal("slow was fast")
	}

	simtest.Arm(t, base, map[string]any{"match": "getMe", "kind": "500"})
	if status, _ := simtest.Do(t, "DELETE", root+"/_/faults", nil); status != http.StatusNoContent {
		t.Fatal(status)
	}
	bot(t, base, "getMe", nil).must(t, nil)
	all := tg.Requests()
	if slow, last := all[len(all)-2], all[len(all)-1]; slow.Fault != "slow" || last.Fault != "" {
		t.Fatalf("the fault is still armed, or was not: %+v, then %+v", slow, last)
	}
}

func TestBadFaultsAreRefused(t *testing.T) {
	t.Parallel()
	_, base := telegramTest(t, nil)
	url := strings.TrimSuffix(base, "/bot"+testToken+"/") + "/_/faults"
	for name, fault := range map[string]any{
		"allowed: an HTTP status": map[string]any{"kind": "explode"},
		"blocked":                 map[string]any{"kind": "200"}, // the list contains the system's own kinds too
		"unknown field":           map[string]any{"kind": "429", "retry": 1},
		"cannot unmarshal":        []string{"429"},
		"negative":                map[string]any{"kind": "429", "times": -1},
		"bytes_per_second":        map[string]any{"kind": "throttle"},
		"more than one":           json.RawMessage(`{"kind":"429"} {"kind":"500"}`),

		"delay_ms must be from 0": map[string]any{"kind": "slow", "delay_ms": -1},
		"delay_ms must be":        map[string]any{"kind": "slow", "delay_ms": 1 << 62}, // as nanoseconds it overflows
		"delay_ms of type":        map[string]any{"kind": "slow", "delay_ms": "50"},
		"number 0.5":              map[string]any{"kind": "slow", "delay_ms": 0.5},
		`"delay"`:                 map[string]any{"kind": "slow", "delay": 50},
		`"Delay"`:                 map[string]any{"kind": "slow", "Delay": 50},
	} {
		status, body := simtest.Do(t, "POST", url, fault)
		var reply map[string]string
		if err := json.Unmarshal(body, &reply); err != nil || status != 400 || !strings.Contains(reply["error"], name) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}

	if status, _ := simtest.Do(t, "GET", url+"/nowhere", nil); status != 404 {
		t.Error(status)
	}
}

func TestAddFaultPanicsOnUnknownKind(t *testing.T) {
	t.Parallel()
	tg, _ := telegramTest(t, nil)
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	tg.AddFault(sim.Fault{Kind: "explode"})
}

func TestRequestsAreLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	tg.AddFault(sim.Fault{Match: "getMe", Kind: "500", Times: 1})
	bot(t, base, "getMe", nil)
	bot(t, base, "sendMessage", map[string]any{"chat_id": 7, "text": "x"})
	bot(t, strings.Replace(base, "AAA", "BBB", 1), "getMe", nil)

	_, body := simtest.Do(t, "GET", strings.TrimSuffix(base, "/bot"+testToken+"/")+"/_/requests", nil)
	if s := string(body); strings.Contains(s, "AAAA") || strings.Contains(s, "BBB") {
		t.Fatal("a token is in the log: " + s)
	}

	var log struct {
		Items []sim.Request `json:"items"`
	}
	if err := json.Unmarshal(body, &log); err != nil || len(log.Items) != 3 {
		t.Fatalf("%s: %v", body, err)
	}
	if r := log.Items[0]; r.Path != "/bot***/getMe" || r.Status != 500 || r.Fault != "500" || !r.Done {
		t.Errorf("%+v", r)
	}

	if r := log.Items[1]; r.Method != "POST" || r.Status != 200 || r.Fault != "" {
		t.Errorf("%+v", r)
	}
	if r := log.Items[2]; r.Status != 401 {
		t.Errorf("%+v", r)
	}
}

func TestStopEndsHeldConnections(t *testing.T) {
	t.Parallel()
	tg, err := New(Options{Dir: t.TempDir(), Token: testToken})
	if err != nil {
		t.Fatal(err)
	}

	url, stop, err := sim.Start("127.0.0.1:0", tg)
	if err != nil {
		t.Fatal(err)
	}

	tg.AddFault(sim.Fault{Match: "getMe", Kind: "timeout"})
	gone := make(chan struct{}, 2)
	for _, method := range []string{"getMe", "getUpdates?timeout=50"} {
		go func() {
			response, err := http.Get(url + "/bot" + testToken + "/" + method)
			if err == nil {
				_ = response.Body.Close()
			}
			gone <- struct{}{}
		}()
	}

	wait.Eventually(t, "both run", func() bool { return len(tg.Requests()) == 2 })
	stop()
	stop() // a second call has no effect
	for range 2 {
		<-gone
	}

	if err := tg.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sim.Start("127.0.0.1:-1", tg); err == nil {
		t.Fatal("no error for a port that cannot be")
	}
}
