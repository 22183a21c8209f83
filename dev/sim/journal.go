package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Journal keeps a simulator's state across restarts: a file with one line of JSON per change. A nil journal keeps
// nothing.
type Journal[E any] struct{ file *os.File }

// OpenJournal passes every change in the file to apply, in order, and opens the file for appending. It cuts off a last
// line that a crash left incomplete. Without a folder there is no journal.
func OpenJournal[E any](dir string, apply func(E) error) (*Journal[E], error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}

	f, err := os.OpenFile(filepath.Join(dir, "journal.jsonl"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}

	good, err := replayJournal(f, apply)
	if err == nil {
		err = f.Truncate(good)
	}

	if err == nil {
		_, err = f.Seek(good, io.SeekStart)
	}

	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &Journal[E]{f}, nil
}

// replayJournal returns how many bytes of a journal are complete lines.
func replayJournal[E any](f io.Reader, apply func(E) error) (good int64, err error) {
	for lines := bufio.NewReaderSize(f, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return good, nil
		}
		if err != nil {
			return good, err
		}

		var e E
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return good, fmt.Errorf("at byte %d: %w", good, err)
		}
		if err := apply(e); err != nil {
			return good, fmt.Errorf("at byte %d: %w", good, err)
		}

		good += int64(len(line))
	}
}

// Add appends a change.
func (j *Journal[E]) Add(e E) error {
	if j == nil {
		return nil
	}

	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}

	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func (j *Journal[E]) Close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
