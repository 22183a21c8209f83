package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxRequests bounds the request log of a simulator that runs for days; long polling alone makes many requests.
const maxRequests = 20_000

// Request is one logged call to a simulator; secrets in its path are masked.
type Request struct {
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Query  string    `json:"query,omitempty"`
	Call   string    `json:"call,omitempty"` // distinguishes calls with the same path
	At     time.Time `json:"at"`
	Status int       `json:"status"`          // 0: still running, or ended without a response
	Fault  string    `json:"fault,omitempty"` // kind of the fault that was applied
	Done   bool      `json:"done"`
}

// Problem is an error response, before it gets the format of one system.
type Problem struct {
	Status     int
	Text       string // the system's own wording; empty: the usual one for the status
	RetryAfter int    // seconds
}

// Error makes a problem an error inside a simulator.
func (p *Problem) Error() string { return p.Text }

// Protocol is what Control must know about the system it is embedded in.
type Protocol struct {
	Mask func(path string) string // the path without secrets
	// distinguishes calls with the same path: the method, or the chat; may be nil
	Call  func(r *http.Request) string
	Fail  func(w http.ResponseWriter, r *http.Request, p Problem) // responds with an error in the system's own format
	Named map[string]Problem                                      // fault kinds that only this system has
}

// Control is the part that all simulators share: faults, the request log and the routes under /_/.
type Control struct {
	protocol Protocol
	routes   *http.ServeMux

	mu       sync.Mutex
	faults   []Fault
	requests []*Request
	released chan struct{} // closed to release the connections that faults hold
}

// SetUp makes an embedded Control ready; the simulator adds its own routes to the returned mux.
func (c *Control) SetUp(p Protocol) *http.ServeMux {
	c.protocol = p
	c.released = make(chan struct{})
	c.routes = http.NewServeMux()
	c.routes.HandleFunc("POST /_/faults", c.postFault)
	c.routes.HandleFunc("DELETE /_/faults", c.deleteFaults)
	c.routes.HandleFunc("GET /_/requests", c.getRequests)
	c.routes.HandleFunc("/_/", func(w http.ResponseWriter, _ *http.Request) {
		WriteControlError(w, http.StatusNotFound, errors.New("no such control route"))
	})
	return c.routes
}

// Serve passes a request to the control routes, or through the faults to the system's handler.
func (c *Control) Serve(w http.ResponseWriter, r *http.Request, system http.Handler) {
	if strings.HasPrefix(r.URL.Path, "/_/") {
		c.routes.ServeHTTP(w, r)
		return
	}

	entry, fault := c.begin(r)
	answer := &recorder{ResponseWriter: w}
	defer func() { c.finish(entry, answer) }() // also when a fault cuts the connection by a panic
	// A fault replaces the body in a copy: net/http uses the body of its own request to close a connection gracefully.
	r = r.WithContext(r.Context())

	if fault == nil {
		system.ServeHTTP(answer, r)
		return
	}

	incident{Fault: *fault, control: c, system: system}.happen(answer, r)
}

// begin logs a request and takes the first fault that matches it.
func (c *Control) begin(r *http.Request) (*Request, *Fault) {
	entry := &Request{Method: r.Method, Path: c.protocol.Mask(r.URL.Path), At: time.Now()}
	entry.Query, _ = url.QueryUnescape(r.URL.RawQuery)
	label := entry.Method + " " + entry.Path
	if entry.Query != "" {
		label += "?" + entry.Query
	}

	if c.protocol.Call != nil {
		entry.Call = c.protocol.Call(r)
		label += " " + entry.Call
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if len(c.requests) >= maxRequests {
		c.requests = slices.Clone(c.requests[maxRequests/2:])
	}

	c.requests = append(c.requests, entry)
	i := slices.IndexFunc(c.faults, func(f Fault) bool { return strings.Contains(label, f.Match) })
	if i < 0 {
		return entry, nil
	}

	fault := c.faults[i]
	entry.Fault = fault.Kind
	switch fault.Times {
	case 0: // stays until deleted
	case 1:
		c.faults = slices.Delete(c.faults, i, i+1)
	default:
		c.faults[i].Times--
	}

	return entry, &fault
}

func (c *Control) finish(entry *Request, answer *recorder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry.Status, entry.Done = answer.status, true
}

// AddFault arms a fault after those that are armed already. It panics on an invalid fault.
func (c *Control) AddFault(f Fault) {
	if err := c.addFault(f); err != nil {
		panic(err) // a mistake in a test: a panic is better than a fault that never occurs
	}
}

func (c *Control) addFault(f Fault) error {
	if err := f.check(c.protocol.Named); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, f)
	return nil
}

// ClearFaults disarms all faults and drops the connections that they hold.
func (c *Control) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
	close(c.released)
	c.released = make(chan struct{})
}

// Requests returns the logged requests, oldest first.
func (c *Control) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Request, len(c.requests))
	for i, r := range c.requests {
		all[i] = *r
	}
	return all
}

func (c *Control) postFault(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Fault
		DelayMS int64 `json:"delay_ms"`
	}
	if !ReadControl(w, r, &body) {
		return
	}

	err := Milliseconds("delay_ms", &body.Delay, &body.DelayMS)
	if err == nil {
		err = c.addFault(body.Fault)
	}
	AnswerControl(w, err)
}

func (c *Control) deleteFaults(w http.ResponseWriter, _ *http.Request) {
	c.ClearFaults()
	w.WriteHeader(http.StatusNoContent)
}

func (c *Control) getRequests(w http.ResponseWriter, _ *http.Request) {
	WriteJSON(w, http.StatusOK, map[string]any{"items": c.Requests()})
}

// Milliseconds sets a time of a control call from its field, unless the field is nil.
func Milliseconds(field string, into *time.Duration, ms *int64) error {
	const most = 365 * 24 * time.Hour
	if ms == nil {
		return nil
	}
	if *ms < 0 || *ms > most.Milliseconds() {
		return fmt.Errorf("%s must be from 0 to %d", field, most.Milliseconds())
	}
	*into = time.Duration(*ms) * time.Millisecond
	return nil
}

// ReadControl reads the JSON body of a control call into v, or answers 400 and returns false.
func ReadControl(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = errors.New("more than one JSON value")
	}
	if err != nil {
		WriteControlError(w, http.StatusBadRequest, err)
		return false
	}
	return true
}

// AnswerControl answers a control call that has no result.
func AnswerControl(w http.ResponseWriter, err error) {
	if err != nil {
		WriteControlError(w, http.StatusBadRequest, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func WriteControlError(w http.ResponseWriter, status int, err error) {
	WriteJSON(w, status, map[string]string{"error": err.Error()})
}

func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the only possible error is a disconnected client
}
