package telegramsim

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/wait"
)

// half is a body whose second half follows when it is released.
type half struct {
	first string
	rest  chan struct{}
}

func (h *half) Read(p []byte) (int, error) {
	if h.first != "" {
		n := copy(p, h.first)
		h.first = h.first[n:]
		return n, nil
	}
	<-h.rest
	return 0, io.EOF
}

func TestEarlyErrorDoesNotWaitForASlowBody(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	tg.AddFault(sim.Fault{Match: "sendDocument", Kind: "429", RetryAfter: 2})
	body, contentType := form(t, map[string]string{"chat_id": "7"}, "document", "a", []byte("content"))
	slow := &half{first: string(body[:50]), rest: make(chan struct{})}
	defer close(slow.rest)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	r, _ := http.NewRequestWithContext(ctx, "POST", base+"sendDocument", slow)
	r.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "2" {
		t.Fatal(response.Status, response.Header)
	}
}

func TestFaultsWithoutJSON(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	for _, want := range []struct {
		kind   string
		status int
		body   string
	}{{"413_empty", 413, ""}, {"html_502", 502, "<html>"}} {
		tg.ClearFaults()
		tg.AddFault(sim.Fault{Kind: want.kind})
		var response *http.Response
		var body []byte
		wait.Eventually(t, "an answer", func() bool { // the connection may end before a slow client has read it
			var err error
			if response, err = sendFile(t, base, "a", []byte("content")); err != nil {
				return false
			}
			defer func() { _ = response.Body.Close() }()
			body, err = io.ReadAll(response.Body)
			return err == nil
		})
		if response.StatusCode != want.status || !strings.HasPrefix(string(body), want.body) || (want.body == "" && len(body) > 0) {
			t.Errorf("%d %q", response.StatusCode, body)
		}
	}
}

func TestCutUploadIsNoMessage(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	tg.AddFault(sim.Fault{Match: "sendDocument", Kind: "cut", Times: 1, AfterBytes: 100_000})
	response, err := sendFile(t, base, "a.bin", make([]byte, 8<<20))
	if err == nil {
		_ = response.Body.Close()
		t.Fatal("answered: " + response.Status)
	}

	wait.Eventually(t, "the request ends", func() bool { return tg.Requests()[0].Done })
	if r := tg.Requests()[0]; r.Status != 0 || r.Fault != "cut" {
		t.Errorf("%+v", r)
	}
	if documents(tg) != 0 {
		t.Error("a cut upload counts as a message")
	}
	if left, _ := os.ReadDir(tg.uploadDir()); len(left) != 0 {
		t.Error("a cut upload left a file behind")
	}
}

func TestLostAnswerCounts(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	tg.AddFault(sim.Fault{Match: "sendDocument", Kind: "lost_answer", Times: 1})
	response, err := sendFile(t, base, "a.bin", []byte("content"))
	if err == nil {
		_ = response.Body.Close()
		t.Fatal("answered: " + response.Status)
	}
	if documents(tg) != 1 {
		t.Error("the message was not sent")
	}
}

func TestHeldConnections(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sim.Fault{
		"timeout":            {Kind: "timeout"},
		"timeout after body": {Kind: "timeout", AfterBody: true},
		"stall":              {Kind: "stall", AfterBytes: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tg, base := telegramTest(t, nil)
			fault.Match = "sendDocument"
			tg.AddFault(fault)
			failed := make(chan error, 1)
			go func() {
				response, err := sendFile(t, base, "a.bin", make([]byte, 1<<20))
				if err == nil {
					_ = response.Body.Close()
				}
				failed <- err
			}()

			wait.Eventually(
				t, "the fault is met", func() bool { return len(tg.Requests()) == 1 && tg.Requests()[0].Fault == fault.Kind },
			)
			select {
			case err := <-failed:
				t.Fatal("ended by itself: ", err)
			case <-time.After(200 * time.Millisecond):
			}

			tg.ClearFaults()
			if err := <-failed; err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Fatal("want a dropped connection, got ", err)
			}
			if documents(tg) != 0 {
				t.Error("counts as a message")
			}
		})
	}
}

func TestTimeoutEndsByDelayOrClient(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	tg.AddFault(sim.Fault{Match: "getMe", Kind: "timeout", Times: 1, Delay: 30 * time.Millisecond})
	tg.AddFault(sim.Fault{Match: "getMe", Kind: "timeout", Times: 1})
	if response, err := http.Get(base + "getMe"); err == nil {
		_ = response.Body.Close()
		t.Fatal("answered")
	}

	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "GET", base+"getMe", nil)
	failed := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		failed <- err
	}()

	wait.Eventually(t, "the server has the request", func() bool { return len(tg.Requests()) == 2 })
	leave()
	if <-failed == nil {
		t.Fatal("answered")
	}

	wait.Eventually(t, "the server sees that the client left", func() bool { return tg.Requests()[1].Done })
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	tg.AddFault(sim.Fault{Match: "sendDocument", Kind: "throttle", Times: 1, BytesPerSecond: 1 << 20})
	began := time.Now()
	sendFileReply(t, base, "a.bin", make([]byte, 300<<10)).must(t, nil)
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("300 KiB at 1 MiB/s took only %v", took)
	}
}

// TestASlowedChat only refuses the calls for one chat.
func TestASlowedChat(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	tg.SendMessage(8, "/start")
	tg.SlowDown(7, time.Hour)
	write := func(chat int) botReply {
		return bot(t, base, "sendMessage", map[string]any{"chat_id": chat, "text": "hello"})
	}
	write(7).must(t, nil)
	if again := write(7); again.ErrorCode != 429 || again.Parameters.RetryAfter < 3000 || again.Parameters.RetryAfter > 3600 {
		t.Errorf("the second call: %+v", again)
	}
	write(8).must(t, nil)
	write(8).must(t, nil)
	tg.SlowDown(7, 0)
	write(7).must(t, nil)
	write(7).must(t, nil)
}
