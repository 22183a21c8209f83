package sim

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault makes matching requests fail on purpose.
type Fault struct {
	// Match is a part of "METHOD /path?query" with secrets masked, followed by " call" where something else distinguishes
	// calls with the same path: Fragment's method, or Telegram's chat, as in "sendMessage chat=200;". An empty Match
	// matches every request outside /_/.
	Match string `json:"match"`
	// Kind is an HTTP status (400 to 599, answered in the system's own format), one of the kinds below, or one of the
	// system's own kinds.
	Kind string `json:"kind"`
	// Times is the number of requests that it hits; 0 keeps it until it is deleted.
	Times int `json:"times"`
	// RetryAfter is the Retry-After of an error answer, in seconds; for 429 at least 1.
	RetryAfter int `json:"retry_after,omitempty"`
	// AfterBytes is how much of a body (the request's or the answer's) passes before cut, stall and short_body act.
	AfterBytes int64 `json:"after_bytes,omitempty"`
	// BytesPerSecond is the speed of throttle, in both directions.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
	// Delay comes before everything else. For timeout it is when the connection is dropped (0: never). Over HTTP it is
	// delay_ms.
	Delay time.Duration `json:"-"`
	// AfterBody makes an error answer and timeout act only after the complete request was read.
	AfterBody bool `json:"after_body,omitempty"`
	// Applied makes an error answer and timeout act only after the request was carried out: the client sees a failure
	// of a call that has succeeded.
	Applied bool `json:"applied,omitempty"`
}

// kinds are the faults that every simulator has, besides HTTP statuses.
var kinds = map[string]func(incident, http.ResponseWriter, *http.Request){
	"413_empty":   incident.empty413,   // 413 without a body
	"html_502":    incident.html502,    // the page of a proxy whose upstream is unavailable
	"timeout":     incident.timeout,    // accept and never answer
	"slow":        incident.pass,       // only the delay
	"cut":         incident.cut,        // drop the connection mid-body
	"stall":       incident.stall,      // stop mid-body and keep the connection
	"throttle":    incident.throttle,   // bytes_per_second
	"lost_answer": incident.lostAnswer, // carry out the request, then drop the connection instead of responding
	"long_body":   incident.longBody,   // no declared length, and more bytes than the file has
	"short_body":  incident.shortBody,  // no declared length, and a clean end after after_bytes
}

// check returns an error unless the fault is valid for a system with the given kinds of its own.
func (f Fault) check(named map[string]Problem) error {
	_, known := kinds[f.Kind]
	if _, ok := named[f.Kind]; !known && !ok && f.status() == 0 {
		allowed := slices.Sorted(maps.Keys(kinds))
		allowed = append(allowed, slices.Sorted(maps.Keys(named))...)
		return fmt.Errorf("unknown kind %q; allowed: an HTTP status from 400 to 599, %s", f.Kind, strings.Join(allowed, ", "))
	}
	if min(int64(f.Times), int64(f.RetryAfter), f.AfterBytes, f.BytesPerSecond, int64(f.Delay)) < 0 {
		return errors.New("times, retry_after, after_bytes, bytes_per_second and the delay must not be negative")
	}
	if f.Kind == "throttle" && f.BytesPerSecond == 0 {
		return errors.New("throttle needs bytes_per_second")
	}

	return nil
}

// status is the HTTP status that the kind names, or 0.
func (f Fault) status() int {
	n, err := strconv.Atoi(f.Kind)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}
