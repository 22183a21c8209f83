// Package personal defines, for every column of the record, what happens to it when a person is forgotten.
package personal

import (
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// Table defines what happens to a table's rows about people. Every column is in Clear or Keep, unless the rows are
// deleted.
type Table struct {
	Name  string
	Whose string            // which rows are about the users with the ids $1; empty: none
	Drop  bool              // those rows are deleted
	Clear map[string]string // the new values of columns in those rows
	Keep  map[Reason]string // columns that stay unchanged
}

// Reason is why a column stays.
type Reason string

const (
	Nobody Reason = "it tells nothing about a person"
	Number Reason = "it is a number, and the row of the user with this number is cleared"
	Shared Reason = "others share it"
	Money  Reason = "it proves where money went"
)

// Queue clears and deletes the record's data about users.
func Queue(batch *pgx.Batch, users []int64) {
	for _, t := range Tables {
		t.queue(batch, users)
	}
}

// QueueDownloads clears users' downloads that have ended since Queue: a live one needs its torrent's names until its
// torrent is removed.
func QueueDownloads(batch *pgx.Batch, users []int64) {
	fetched.queue(batch, users)
	fetchedFrom.queue(batch, users)
}

func (t Table) queue(batch *pgx.Batch, users []int64) {
	if t.Drop {
		batch.Queue(`DELETE FROM `+t.Name+` WHERE `+t.Whose, users)
	}
	if len(t.Clear) > 0 {
		var set []string
		for _, column := range slices.Sorted(maps.Keys(t.Clear)) {
			set = append(set, column+` = `+t.Clear[column])
		}
		batch.Queue(`UPDATE `+t.Name+` SET `+strings.Join(set, ", ")+` WHERE `+t.Whose, users)
	}
}

var removed = core.Literal(core.RemovedText)
