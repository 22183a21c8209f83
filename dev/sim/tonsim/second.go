package tonsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"stagecoach/dev/sim"
)

// Lies are the false answers of a second toncenter.
type Lies struct {
	AmountNano int64  `json:"amount_nano"` // the value of each deposit; 0: the true one
	Sender     string `json:"sender"`      // of each deposit, a raw address; empty: the true one
	Comment    string `json:"comment"`     // of each deposit; empty: the true one
	Missing    bool   `json:"missing"`     // no transaction is listed
	BehindMS   int64  `json:"behind_ms"`   // this source knows only the blocks up to so long ago
}

// SecondTonCenter stands in for a toncenter of another operator. It answers what the first one answers about the same
// chain, and gives false answers on request. A fault takes it down, as with every stand-in.
type SecondTonCenter struct {
	sim.Control
	first  string
	client *http.Client
	system *http.ServeMux

	mu   sync.Mutex
	lies Lies
}

// NewSecondTonCenter returns one that reads the chain from the stand-in at url.
func NewSecondTonCenter(url string) *SecondTonCenter {
	s := &SecondTonCenter{
		first: strings.TrimRight(url, "/"), client: &http.Client{Timeout: 30 * time.Second}, system: http.NewServeMux(),
	}

	control := s.SetUp(sim.Protocol{Mask: func(path string) string { return path }, Fail: failTonCenter})
	control.HandleFunc("POST /_/lies", s.postLies)
	control.HandleFunc(
		"GET /_/lies", func(w http.ResponseWriter, _ *http.Request) { sim.WriteJSON(w, http.StatusOK, s.told()) },
	)
	s.system.HandleFunc("GET /api/v3/transactions", s.answer(s.transactions))
	s.system.HandleFunc("GET /api/v3/masterchainInfo", s.answer(s.head))
	s.system.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failTonCenter(w, r, sim.Problem{Status: http.StatusNotFound, Text: "Cannot " + r.Method + " " + r.URL.Path})
	})
	return s
}

// Tell sets the false answers from now on; the zero Lies are the truth.
func (s *SecondTonCenter) Tell(lies Lies) error {
	if lies.AmountNano < 0 || lies.BehindMS < 0 {
		return errors.New("amount_nano and behind_ms must not be negative")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lies = lies
	return nil
}

func (s *SecondTonCenter) told() Lies {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lies
}

func (s *SecondTonCenter) postLies(w http.ResponseWriter, r *http.Request) {
	var lies Lies
	if !sim.ReadControl(w, r, &lies) {
		return
	}
	if err := s.Tell(lies); err != nil {
		sim.WriteControlError(w, http.StatusBadRequest, err)
		return
	}
	sim.WriteJSON(w, http.StatusOK, lies)
}

// Close releases held connections.
func (s *SecondTonCenter) Close() error {
	s.ClearFaults()
	s.client.CloseIdleConnections()
	return nil
}

// ServeHTTP answers a part of toncenter's API at the root and the control routes under /_/.
func (s *SecondTonCenter) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.Serve(w, r, s.system) }

// answer passes a call on to the first one and changes its answer.
func (s *SecondTonCenter) answer(change func(answer map[string]any, lies Lies) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := s.ask(r)
		if err == nil {
			err = change(answer, s.told())
		}
		if err != nil {
			failTonCenter(w, r, sim.Problem{Status: http.StatusBadGateway, Text: err.Error()})
			return
		}
		sim.WriteJSON(w, http.StatusOK, answer)
	}
}

func (s *SecondTonCenter) ask(r *http.Request) (answer map[string]any, err error) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, s.first+r.URL.RequestURI(), nil)
	if err != nil {
		return nil, err
	}

	response, err := s.client.Do(request)
	if err != nil {
		return nil, errors.New("the chain cannot be read")
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the chain answers %d", response.StatusCode)
	}

	decoder := json.NewDecoder(io.LimitReader(response.Body, 32<<20))
	decoder.UseNumber()
	return answer, decoder.Decode(&answer)
}

// head reports an older block.
func (s *SecondTonCenter) head(answer map[string]any, lies Lies) error {
	last, ok := answer["last"].(map[string]any)
	at, err := strconv.ParseInt(fmt.Sprint(last["gen_utime"]), 10, 64)
	if !ok || err != nil {
		return errors.New("the chain's head has no time")
	}
	last["gen_utime"] = strconv.FormatInt(at-lies.BehindMS/1000, 10)
	return nil
}

// transactions changes the deposits and removes those that are to be missing.
func (s *SecondTonCenter) transactions(answer map[string]any, lies Lies) error {
	all, _ := answer["transactions"].([]any)
	known := []any{}
	for _, each := range all {
		transaction, ok := each.(map[string]any)
		if !ok {
			return errors.New("the chain has a transaction of an unknown form")
		}

		at, err := strconv.ParseInt(fmt.Sprint(transaction["now"]), 10, 64)
		if err != nil {
			return errors.New("the chain has a transaction without a time")
		}
		if lies.Missing || lies.BehindMS > 0 && time.Since(time.Unix(at, 0)).Milliseconds() < lies.BehindMS {
			continue
		}

		if in, ok := transaction["in_msg"].(map[string]any); ok && in["source"] != nil {
			lies.tellOf(in)
		}

		known = append(known, transaction)
	}

	answer["transactions"] = known
	return nil
}

// tellOf changes an incoming message.
func (l Lies) tellOf(in map[string]any) {
	if l.AmountNano > 0 {
		in["value"] = strconv.FormatInt(l.AmountNano, 10)
	}
	if l.Sender != "" {
		in["source"] = l.Sender
	}
	if l.Comment != "" { // without a body a reader uses the decoded comment
		in["message_content"] = map[string]any{"decoded": map[string]any{"type": "text_comment", "comment": l.Comment}}
	}
}
