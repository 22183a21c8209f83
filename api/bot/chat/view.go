package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"stagecoach/api/words"

	"github.com/mymmrac/telego"
)

// Row is a row of buttons.
type Row = []telego.InlineKeyboardButton

// View is a rendered message: HTML, and rows of buttons.
type View struct {
	Text  string
	Rows  []Row
	Ask   string // what the menu asks for with this view, as stored in the conversation
	Ended bool   // of a live message: it is final
}

// Hash distinguishes views by their visible content.
func (v View) Hash() string {
	shown := []byte(v.Text)
	for _, row := range v.Rows {
		for _, button := range row {
			shown = fmt.Appendf(shown, "\n%q %q", button.Text, button.CallbackData)
		}
	}
	sum := sha256.Sum256(shown)
	return hex.EncodeToString(sum[:8])
}

// Noted returns the view with a note above its text; an empty note adds nothing.
func (v View) Noted(note string) View {
	if note != "" {
		v.Text = note + "\n\n" + v.Text
	}
	return v
}

// Rows stacks rows of buttons, leaving out empty ones.
func Rows(all ...Row) []Row {
	var kept []Row
	for _, row := range all {
		if len(row) > 0 {
			kept = append(kept, row)
		}
	}
	return kept
}

// Press makes a row with one button. Its data is the prefix and the arguments.
func Press(label, prefix string, args ...any) Row {
	data := prefix
	for _, arg := range args {
		data += fmt.Sprintf(":%v", arg)
	}
	return Row{{Text: label, CallbackData: data}}
}

// List draws a page of a list, newest first.
type List[T any] struct {
	Prefix      string // of the buttons that turn the pages
	Size        int    // items per page
	Title, None words.Text
	Refresh     bool // with a button that refreshes the page
	ID          func(T) int64
	Draw        func(T) (lines []string, buttons Row)
}

// View draws the page of the items below an id; 0: the first page. found has one more item than the page shows when
// there are more.
func (l List[T]) View(language string, before int64, found []T) View {
	lines := []string{l.Title.In(language)}
	if len(found) == 0 {
		lines = append(lines, l.None.In(language))
	}

	page, next := Page(found, l.Size, l.ID)
	var rows []Row
	for _, one := range page {
		drawn, buttons := l.Draw(one)
		lines, rows = append(lines, drawn...), append(rows, buttons)
	}

	turn := Turn(language, l.Prefix, before, next)
	if l.Refresh {
		turn = append(Press(LabelRefresh.In(language), l.Prefix, before), turn...)
	}
	return View{Text: strings.Join(lines, "\n"), Rows: Rows(append(rows, turn)...)}
}

// Page cuts a list that was read with one row more than a page shows. next is the id of the page's last row when rows
// with lower ids follow; 0: this is the last page.
func Page[T any](all []T, size int, id func(T) int64) (page []T, next int64) {
	if len(all) <= size {
		return all, 0
	}
	return all[:size], id(all[size-1])
}

// Turn draws the buttons to the other pages of a list, newest first. before and next are the exclusive upper ids of
// this page and the next one; 0: this is the first page, or the last one.
func Turn(language, prefix string, before, next int64) (row Row) {
	if before != 0 {
		row = append(row, Press(labelNewest.In(language), prefix, 0)...)
	}
	if next != 0 {
		row = append(row, Press(labelOlder.In(language), prefix, next)...)
	}
	return row
}
