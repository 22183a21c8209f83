package testtemporal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"
)

// History returns all events of a workflow run; without a run, of the last one.
func (s *Server) History(t testing.TB, workflowID, run string) []*historypb.HistoryEvent {
	t.Helper()
	return History(t, s.Client, workflowID, run)
}

// History returns all events of a workflow run; without a run, of the last one.
func History(t testing.TB, c client.Client, workflowID, run string) (events []*historypb.HistoryEvent) {
	t.Helper()
	pages := c.GetWorkflowHistory(
		context.WithoutCancel(t.Context()), workflowID, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT,
	)

	for pages.HasNext() {
		event, err := pages.Next()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}

	return events
}

// Record returns the version under which the histories of a package are to be saved for its replay tests, or skips the
// test. A saved history represents workflows in production, and later code must still replay it: save new ones beside
// the old ones.
func Record(t testing.TB) Version {
	t.Helper()
	version := os.Getenv("STAGECOACH_RECORD") // such as "v1"
	if version == "" {
		t.Skip("STAGECOACH_RECORD names the version to save")
	}
	return Version(version)
}

// Version is part of the names of saved histories.
type Version string

// Save writes a history to folder, one event per line; "" is the package's own. A previously saved history stays:
// delete its file to record it again.
func (v Version) Save(t testing.TB, folder, name string, events []*historypb.HistoryEvent) {
	t.Helper()
	text, err := linesOf(events)
	if err != nil {
		t.Fatal(err)
	}

	folder = cmp.Or(folder, "testdata")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}

	file, err := os.OpenFile(filepath.Join(folder, string(v)+"-"+name+".json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return
	}
	if err == nil {
		_, err = file.Write(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// linesOf writes events as JSON that the SDK reads.
func linesOf(events []*historypb.HistoryEvent) ([]byte, error) {
	text := bytes.NewBufferString(`{"events": [`)
	for i, event := range events {
		line, err := protojson.Marshal(event)
		if err != nil {
			return nil, err
		}

		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			return nil, err
		}
		forget(fields)
		if line, err = json.Marshal(fields); err != nil {
			return nil, err
		}

		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
		text.Write(line)
	}

	text.WriteString("\n]}\n")
	return text.Bytes(), nil
}

// unread are fields that no replay reads: they name the machine, the build and the server's tasks.
var unread = []string{"taskId", "identity", "requestId", "historySizeBytes", "workerVersion"}

// forget removes from an event what no replay reads.
func forget(fields map[string]any) {
	for _, name := range unread {
		delete(fields, name)
	}
	for _, value := range fields {
		if inner, ok := value.(map[string]any); ok {
			forget(inner)
		}
	}
}
