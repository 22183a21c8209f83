package chat

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/mymmrac/telego"

	"stagecoach/api/words"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/notice"
)

// Incoming is what a person did: wrote a message or pressed a button.
type Incoming struct {
	Update  int64
	From    telego.User
	Chat    int64
	Private bool
	Words   string // the message
	Date    int64  // when the message was written, in Unix seconds
	Click   string // id of the press; empty for a message
	Data    string // data of the button
	Message int64  // the message to edit, if any: the button's
}

// Request is an Incoming while a handler processes it.
type Request struct {
	Incoming
	Args    string // the words after a command
	User    account.User
	Conv    notice.Conversation // saved when the request is done
	Note    string              // shown to the person who pressed the button
	Alert   bool                // the note is shown as a dialog that has to be closed
	Subject string              // for the audit log: the person or entity on which an administrator's right was used
	Forget  bool                // do not save anything of the request
}

// Key is the idempotency key of the request, the same for every delivery of the update. Telegram restarts its update
// numbers now and then, so the date is part of the key.
func (in Incoming) Key() string { return fmt.Sprintf("bot/%d/%d", in.Date, in.Update) }

// Say returns a text in the person's language.
func (r *Request) Say(t words.Text, args ...any) string { return t.In(r.User.Language, args...) }

// OnMenu reports whether the request came from the menu message itself.
func (r *Request) OnMenu() bool { return r.Message == r.Conv.MessageID }

// Args are the arguments after the prefix in a button's data.
type Args []string

// Number returns an argument; -1, which is no id, when it is missing or not a number.
func (a Args) Number(i int) int64 {
	if i >= len(a) {
		return -1
	}
	n, err := strconv.ParseInt(a[i], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Offset returns where a page of a list begins; 0, the beginning, when it is missing or not a number.
func (a Args) Offset(i int) int64 { return max(a.Number(i), 0) }

// ReadNumber parses the number of an entity as people write it.
func ReadNumber(word string) (int64, bool) {
	id, err := strconv.ParseInt(strings.TrimLeft(word, "#№"), 10, 64)
	return id, err == nil
}

// FirstWord cuts off the first word of a command's arguments.
func FirstWord(args string) (word, rest string) {
	if end := strings.IndexFunc(args, unicode.IsSpace); end >= 0 {
		return args[:end], strings.TrimSpace(args[end:])
	}
	return args, ""
}

// OneLine replaces line breaks and runs of spaces with single spaces.
func OneLine(words string) string { return strings.Join(strings.Fields(words), " ") }

// longestQuery is how many runes of a person's words are searched for: a name has at most 255 bytes.
const longestQuery = 60

// Query cleans up words for a search.
func Query(words string) string {
	runes := []rune(OneLine(words))
	return string(runes[:min(longestQuery, len(runes))])
}

// Nonce distinguishes one rendering of a button or a question from the next.
func Nonce() string {
	raw := make([]byte, 4)
	rand.Read(raw)
	return hex.EncodeToString(raw)
}

// Hint is an error that is just a sentence for the person.
type Hint struct {
	Text words.Text
	Args []any
}

// Error implements error.
func (h Hint) Error() string { return h.Text.In(words.English, h.Args...) }
