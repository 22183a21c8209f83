package delivery

import (
	"fmt"
	"net/http"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/terminal"
)

// pollInterval is how often a command that waits for a delivery reads it.
const pollInterval = 300 * time.Millisecond

// Call requests a delivery. The same key and file return the same delivery.
func Call(fileID, key string) client.Call {
	return client.Call{
		Method: http.MethodPost, Path: "/v1/deliveries", Body: map[string]string{"file_id": fileID}, IdempotencyKey: key,
	}
}

// Speedometer measures the transfer speed of one delivery.
type Speedometer struct {
	since       time.Time // of the stream's start
	from, until int64
	perSecond   float64
}

// Measure returns bytes per second since the stream began, 0 while that is unknown. The record is updated about once a
// second, so the speed stays the same between two updates.
func (s *Speedometer) Measure(d shape.Delivery) float64 {
	switch {
	case d.State != lifecycle.DeliveryStreaming || d.BytesSent < s.until:
		*s = Speedometer{}
	case s.since.IsZero():
		*s = Speedometer{since: time.Now(), from: d.BytesSent, until: d.BytesSent}
	case d.BytesSent > s.until:
		s.until = d.BytesSent
		s.perSecond = float64(s.until-s.from) / time.Since(s.since).Seconds()
	}
	return s.perSecond
}

// ProgressLine shows how far a delivery is, within the width of a screen.
func ProgressLine(d shape.Delivery, perSecond float64) string {
	const nameWidth = 24
	name := terminal.Shorten(terminal.Printable(d.FileName), nameWidth)
	line := fmt.Sprintf("  %-*s  ", nameWidth, name)
	switch {
	case d.State == lifecycle.DeliveryQueued && d.Attempt > 0:
		line += fmt.Sprintf("waits for the next attempt after %s", terminal.Printable(shape.Value(d.LastError)))
	case d.State == lifecycle.DeliveryQueued && d.PlaceInLine != nil:
		line += fmt.Sprintf("waits, place %d in the queue", *d.PlaceInLine)
	case d.State == lifecycle.DeliveryQueued:
		line += "waits"
	case d.State != lifecycle.DeliveryStreaming || d.Size <= 0:
		line += "opening the file"
	case d.BytesSent >= d.Size:
		line += terminal.Bar(1) + " 100 %  Telegram stores it"
	default:
		part := float64(d.BytesSent) / float64(d.Size)
		line += fmt.Sprintf("%s %3.0f %%", terminal.Bar(part), 100*part)
		if perSecond > 0 {
			line += "  " + terminal.BytesText(int64(perSecond)) + "/s"
		}
	}

	return line
}

// ChangeLine is a log line about the state of a delivery.
func ChangeLine(d shape.Delivery) string {
	line := fmt.Sprintf("delivery %s  %-11s  %s", d.ID, d.State, terminal.Printable(d.FileName))
	switch {
	case d.State == lifecycle.DeliveryDelivered:
		line += fmt.Sprintf(", %s in %s", terminal.BytesText(d.Size), terminal.Took(d.UpdatedAt.Sub(d.CreatedAt)))
	case d.LastError != nil:
		line += ": " + terminal.Printable(shape.Value(d.LastError))
	}
	return line
}
