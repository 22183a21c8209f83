package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stagecoach/internal/store"
)

const (
	followEvery   = 300 * time.Millisecond
	followWithout = 30 * time.Second // how long an API may be away while somebody waits for a job
)

// delivery is a delivery job as the API shows it.
type delivery struct {
	ID          string         `json:"id"`
	State       store.JobState `json:"state"`
	Attempt     int            `json:"attempt"`
	FileID      string         `json:"file_id"`
	FileName    string         `json:"file_name"`
	Size        int64          `json:"size"`
	BytesSent   int64          `json:"bytes_sent"`
	PlaceInLine int            `json:"place_in_line"`
	LastError   string         `json:"last_error"`
	CreatedAt   time.Time      `json:"created_at"`
	UpdatedAt   time.Time      `json:"updated_at"`
	WorkflowID  string         `json:"workflow_id"`
}

func (d delivery) ended() bool {
	switch d.State {
	case store.JobDelivered, store.JobFailed, store.JobCancelled, store.JobExpired:
		return true
	default:
		return false
	}
}

// deliver asks for a delivery. existed says that the key was used before: then it is that delivery.
func (c *client) deliver(ctx context.Context, fileID, key string) (answer []byte, existed bool, err error) {
	answer, status, err := c.send(ctx, call{
		method: http.MethodPost, path: "/v1/deliveries",
		body: map[string]string{"file_id": fileID}, idempotencyKey: key,
	})
	return answer, status == http.StatusOK, err
}

func (c *client) delivery(ctx context.Context, id string) ([]byte, error) {
	return c.get(ctx, "/v1/deliveries/"+url.PathEscape(id), nil)
}

// eachDelivery shows the caller's deliveries to see, the newest first, until it says that it has seen enough.
func (c *client) eachDelivery(ctx context.Context, see func(delivery) (enough bool)) error {
	return eachItem(ctx, c, "/v1/deliveries", url.Values{}, see)
}

// follow looks at a delivery until it has ended, shows each look to see, and gives the last answer. It bears an API that
// restarts.
func (c *client) follow(ctx context.Context, id string, see func(delivery)) (last delivery, answer []byte, err error) {
	heard := time.Now()
	for {
		answer, err = c.delivery(ctx, id)
		if err == nil {
			heard = time.Now()
			if last, err = decode[delivery](answer); err != nil {
				return last, nil, err
			}
			see(last)
			if last.ended() {
				return last, answer, nil
			}
		} else if !passing(err) || time.Since(heard) > followWithout {
			return last, nil, err
		}
		select {
		case <-ctx.Done():
			return last, nil, ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// passing says whether an error of the API may be over in a moment.
func passing(err error) bool {
	var away *unreachable
	var no *refusal
	return errors.As(err, &away) || errors.As(err, &no) && (no.Status >= 500 || no.Status == http.StatusTooManyRequests)
}

// speedometer measures how fast the bytes of one delivery flow.
type speedometer struct {
	since       time.Time // of the stream
	from, until int64
	perSecond   float64
}

// look gives bytes per second since the stream began, 0 while that is not known. The record hears of bytes about once a
// second, so between two such moments the speed stays.
func (s *speedometer) look(d delivery) float64 {
	switch {
	case d.State != store.JobStreaming || d.BytesSent < s.until:
		*s = speedometer{}
	case s.since.IsZero():
		*s = speedometer{since: time.Now(), from: d.BytesSent, until: d.BytesSent}
	case d.BytesSent > s.until:
		s.until = d.BytesSent
		s.perSecond = float64(s.until-s.from) / time.Since(s.since).Seconds()
	}
	return s.perSecond
}

// progressLine shows how far a delivery is, within the width of a screen.
func progressLine(d delivery, perSecond float64) string {
	const nameWidth = 24
	name := shorten(printable(d.FileName), nameWidth)
	line := fmt.Sprintf("  %-*s  ", nameWidth, name)
	switch {
	case d.State == store.JobQueued && d.Attempt > 0:
		line += fmt.Sprintf("waits to be tried again after %s", printable(d.LastError))
	case d.State == store.JobQueued && d.PlaceInLine > 0:
		line += fmt.Sprintf("waits, place %d in line", d.PlaceInLine)
	case d.State == store.JobQueued:
		line += "waits"
	case d.State != store.JobStreaming || d.Size <= 0:
		line += "opens the file"
	case d.BytesSent >= d.Size:
		line += bar(1) + " 100 %  Telegram takes it in"
	default:
		part := float64(d.BytesSent) / float64(d.Size)
		line += fmt.Sprintf("%s %3.0f %%", bar(part), 100*part)
		if perSecond > 0 {
			line += fmt.Sprintf("  %.1f MB/s", perSecond/1e6)
		}
	}
	return line
}

func bar(part float64) string {
	const width = 24
	full := min(width, max(0, int(part*width)))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// changeLine is what a log gets to read when a delivery changes its state.
func changeLine(d delivery) string {
	line := fmt.Sprintf("delivery %s  %-11s  %s", d.ID, d.State, printable(d.FileName))
	switch {
	case d.State == store.JobDelivered:
		line += fmt.Sprintf(", %s in %s", bytesText(d.Size), took(d.UpdatedAt.Sub(d.CreatedAt)))
	case d.LastError != "":
		line += ": " + printable(d.LastError)
	}
	return line
}
