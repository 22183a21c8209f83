// Package backup writes the record to one encrypted file and restores it from there.
//
// The file is a ZIP archive inside an age file, so that the programs age and unzip can open it too: manifest.json, and
// each table's rows in PostgreSQL's text format. It contains no schema: the migrations up to the file's version create
// it.
package backup

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"filippo.io/age"
)

const (
	format       = 1
	manifestName = "manifest.json"
	manifestMax  = 4 << 20 // bytes; with 60 tables and 150 settings it has 20 KB
)

// Manifest describes a backup's content. It is the last entry, because the row counts are known only at the end.
type Manifest struct {
	Format     int               `json:"format"`
	CreatedAt  time.Time         `json:"created_at"` // of the snapshot
	Program    string            `json:"program"`    // its version
	Schema     int64             `json:"schema"`
	PostgreSQL string            `json:"postgresql"`
	Temporal   string            `json:"temporal,omitempty"` // empty: it did not answer
	Settings   map[string]string `json:"settings"`           // without secrets
	Tables     []Table           `json:"tables"`
	Sequences  map[string]int64  `json:"sequences"` // the last numbers assigned
}

// Table is a table of the record. A partition stands for its parent table.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
	Bytes   int64    `json:"bytes"`
}

// Rows is the total number of rows.
func (m Manifest) Rows() (n int64) {
	for _, table := range m.Tables {
		n += table.Rows
	}
	return n
}

// Progress receives the rows and bytes of a table copied so far.
type Progress func(table string, rows, bytes int64)

// meter counts what is copied of one table, and ends the copy with the context. In PostgreSQL's text format each line
// is a row.
type meter struct {
	ctx         context.Context
	table       string
	tell        Progress
	rows, bytes int64
}

func (m *meter) Write(p []byte) (int, error) {
	m.rows += int64(bytes.Count(p, []byte{'\n'}))
	m.bytes += int64(len(p))
	m.tell(m.table, m.rows, m.bytes)
	return len(p), m.ctx.Err()
}

// File is an opened backup, fully authenticated.
type File struct {
	Manifest
	source  *os.File
	archive *zip.Reader
}

// Open opens a backup file with any of the identities. It rejects a truncated or altered file before anything is done
// with it.
func Open(ctx context.Context, name string, identities []age.Identity) (_ *File, err error) {
	source, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = source.Close()
			err = openError(err)
		}
	}()

	// age authenticates each part as it is decrypted, and that none is missing: all are read once.
	whole, err := age.Decrypt(source, identities...)
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(&meter{ctx: ctx, tell: func(string, int64, int64) {}}, whole); err != nil {
		return nil, err
	}

	info, err := source.Stat()
	if err != nil {
		return nil, err
	}
	plain, size, err := age.DecryptReaderAt(source, info.Size(), identities...)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(plain, size)
	if err != nil {
		return nil, err
	}

	f := &File{source: source, archive: archive}
	return f, f.readManifest()
}

func openError(err error) error {
	_, other := errors.AsType[*age.NoIdentityMatchError](err)
	switch {
	case other:
		return errors.New("the backup is for another recipient: the identity file has no key that opens it")
	case errors.Is(err, errFormat), errors.Is(err, context.Canceled):
		return err
	default:
		return fmt.Errorf("the file is truncated, was altered or is no backup: %w", err)
	}
}

var errFormat = errors.New("the backup was written by a newer release: restore it with that one")

func (f *File) readManifest() error {
	entry, err := f.archive.Open(manifestName)
	if err != nil {
		return err
	}
	defer entry.Close()

	if err := json.NewDecoder(io.LimitReader(entry, manifestMax)).Decode(&f.Manifest); err != nil {
		return err
	}
	if f.Format != format {
		return errFormat
	}
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.source.Close() }

// entryName is the name of a table's rows in an archive.
func entryName(table string) string { return "tables/" + table + ".copy" }
