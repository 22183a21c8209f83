package bot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/mymmrac/telego"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// annasWord is in every text of Anna's that is private to her.
const annasWord = "zzanna"

// blocked is the Telegram id of a person without access, waiting that of one without access yet.
const (
	blocked = int64(400)
	waiting = int64(500)
)

// things are what commands and buttons may refer to.
type things struct {
	user, file, job, task, space, book, download int64
	hash, code                                   string // of a transaction, and of a browser's session
}

// asks are the arguments with which each command refers to things; a command that is missing here fails the test.
func (o things) asks() map[string][]string {
	return map[string][]string{
		"start": {""}, "web": {""}, "help": {""}, "stars": {""}, "jobs": {""}, "ready": {""}, "downloads": {""},
		"files": {""}, "status": {""}, "confirm": {o.code}, "language": {""}, "mute": {number64(o.task)}, "unmute": {number64(o.task)}, "cancel": {number64(o.job)},
		"claim":    {number64(o.task) + " I will"},
		"task":     {"", number64(o.task), "new " + number64(o.task)},
		"download": {fmt.Sprintf("%d %s&dn=boris", o.book, magnet)}, "books": {"", "wheels"}, "find": {"wheels"}, "book": {number64(o.book)},
		"tx": {"", o.hash}, "retry": {o.hash}, "approve": {"", number64(o.user)}, "block": {number64(o.user)},
	}
}

// presses are the data of each button, without its prefix; a button that is missing here fails the test.
func (o things) presses() map[string][]string {
	steps := []string{}
	actions := []lifecycle.TaskState{"claim", "escalate", "takeover", "comment", "submit", "approve", "reject"}
	for _, action := range append(actions, lifecycle.TaskStates...) {
		steps = append(steps, fmt.Sprintf("%d:%s", o.task, action))
	}
	return map[string][]string{
		"xt": {o.hash}, "xr": {o.hash}, "xy": {o.hash + ":1"}, "xv": {o.hash + ":1"},
		"dl": {"0"}, "dx": {number64(o.download)}, "dr": {number64(o.download)}, "di": {number64(o.download)}, "ds": {number64(o.download)},
		"bs": {number64(o.book) + ":text:n"}, "dm": {number64(o.book) + ":text"},
		"fr": {"x:0", ""}, "fm": {"text", ""}, "fb": {number64(o.book) + ":text"},
		"bk": {number64(o.book)}, "bp": {"0", ""}, "bn": {""},
		"f": {"0:0"}, "u": {"0"}, "i": {number64(o.file) + ":0"}, "s": {""}, "r": {"0"},
		"d": {number64(o.file) + ":nonce:0"}, "j": {"0"}, "c": {number64(o.job)},
		"t": {number64(o.task)}, "tn": {number64(o.task)}, "tm": {"0"}, "tr": {"0"}, "ta": steps, "tp": {number64(o.task) + ":DONE:n"}, "tq": {number64(o.task)}, "ln": {"xx"},
		"tg": {number64(o.space)}, "tf": {number64(o.space)}, "tw": {number64(o.space) + ":n"},
		"ap": {number64(o.user)}, "bl": {number64(o.user)},
	}
}

// annas creates one of everything for Anna.
func (w *rig) annas() (o things) {
	w.t.Helper()
	user := w.user(anna)
	o.user = user.ID
	job := w.job(anna, "shared.txt")
	o.job, o.file = job.ID, job.FileID
	space := w.space(anna)
	made := w.task(anna, space, task.NewTask{Title: annasWord, Description: annasWord, Labels: []string{annasWord}})
	o.space, o.task = space.ID, made.ID
	book := w.addsBook(anna, "Wheels", "")
	o.book = book.ID
	o.download = w.starts(anna, book).ID
	w.opens()
	o.hash = w.deposits(1, annasWord)
	w.failsWith(o.hash, "Fragment is away", lifecycle.Retryable, false)

	secret := account.NewSecret()
	tokens, err := w.store.Accounts.Tokens(w.t.Context(), user.ID, 0, 1)
	if err == nil && len(tokens) == 0 {
		token := account.Token{UserID: user.ID, Name: annasWord, Scopes: account.ScopesOf(user.Role)}
		_, err = w.store.Accounts.CreateToken(w.t.Context(), token, secret)
		w.must(err)
		tokens, err = w.store.Accounts.Tokens(w.t.Context(), user.ID, 0, 1)
	}
	w.must(err)
	w.must(w.store.Accounts.StartSession(w.t.Context(), tokens[0], secret, account.LinkLife))
	_, session, err := w.store.Accounts.SessionOf(w.t.Context(), secret)
	w.must(err)
	o.code, err = w.store.Accounts.AskConfirmation(w.t.Context(), user.ID, session.ID)
	w.must(err)
	return o
}

func (w *rig) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// matrix is a bot that is fed messages and presses directly.
type matrix struct {
	*rig
	bot    *Bot
	db     *pgx.Conn
	number int // of the last update
}

func newMatrix(t *testing.T) (*matrix, things) {
	t.Helper()
	w := newRig(t)
	stop := w.run(w.bot())
	for _, person := range []int64{boss, anna, boris, blocked, waiting} {
		w.known(person, "en")
	}
	for person, status := range map[int64]string{blocked: account.UserBlocked, waiting: account.UserPending} {
		_, err := w.store.Accounts.ChangeUser(t.Context(), w.user(person).ID, account.UserChange{Status: status})
		w.must(err)
	}
	stop()
	m := &matrix{rig: w, bot: w.bot(), db: testdb.Connect(t, w.wire.URL), number: 500_000_000}
	return m, w.annas()
}

// each calls a function for each command and button, with the command's name, what a person sends, and how.
func (m *matrix) each(o things, call func(command, what string, send func(person int64))) {
	m.t.Helper()
	asks, presses := o.asks(), o.presses()
	for _, command := range m.bot.commands {
		texts, known := asks[command.Name]
		if !known {
			m.t.Errorf("the command /%s is not in the matrix", command.Name)
		}
		for _, args := range texts {
			words := strings.TrimSpace("/" + command.Name + " " + args)
			call(command.Name, words, func(person int64) { m.hands(message(m.next(), person, words)) })
		}
	}
	for _, button := range m.bot.buttons {
		all, known := presses[button.Prefix]
		if !known {
			m.t.Errorf("the button %s is not in the matrix", button.Prefix)
		}
		for _, args := range all {
			data := strings.TrimSuffix(button.Prefix+":"+args, ":")
			call(button.Command, data, func(person int64) {
				menu, err := m.store.Notices.Conversation(m.t.Context(), person)
				m.must(err)
				m.hands(pressOf(m.next(), person, data, menu.MessageID), message(m.next(), person, "some words"))
			})
		}
	}
}

func (m *matrix) next() int { m.number++; return m.number }

// hands feeds updates to the bot in sequence: a person answers the question that a button leads to.
func (m *matrix) hands(updates ...telego.Update) {
	m.t.Helper()
	for _, update := range updates {
		m.handles(m.bot, update)
	}
}

// unchanged runs requests, and fails the test if they change more than the bot's record of the chat.
func (m *matrix) unchanged(what string, requests func()) {
	m.t.Helper()
	besides := append([]string{"conversations", "bot_updates"}, testdb.Traces...)
	before := testdb.RecordOf(m.t, m.db, besides...)
	requests()
	if tables := before.Changed(testdb.RecordOf(m.t, m.db, besides...)); len(tables) > 0 {
		m.t.Errorf("%s has changed %v", what, tables)
	}
}

// TestMatrixOfWhoHasNoAccess sends each command and presses each button as people who are blocked or not approved.
func TestMatrixOfWhoHasNoAccess(t *testing.T) {
	t.Parallel()
	m, hers := newMatrix(t)
	for who, person := range map[string]int64{"who is blocked": blocked, "who waits": waiting} {
		m.unchanged(who, func() {
			m.each(hers, func(_, _ string, send func(int64)) { send(person) })
		})
		m.showsNothing(person)
	}
}

// showsNothing checks that a chat has never shown anything of Anna's.
func (m *matrix) showsNothing(person int64) {
	m.t.Helper()
	if n := m.shown(person); n > 0 {
		m.t.Errorf("%d reads what is Anna's %d times: %+v", person, n, m.telegram.Chat(person).Messages)
	}
}

// shown counts how often a chat has shown Anna's word, in the bot's messages, their buttons and all their edits.
func (m *matrix) shown(person int64) (n int) {
	for _, message := range m.telegram.Chat(person).Messages {
		if message.FromBot {
			n += strings.Count(fmt.Sprintf("%+v", message), annasWord)
		}
	}
	return n
}

// mayDo are the commands that Boris may use on any file or book, whoever created it.
var mayDo = map[string]bool{"start": true, "web": true, "files": true, "download": true, "task": true, "book": true}

// TestMatrixOfOthersThings has Boris send each command and press each button about Anna's things. Nothing of hers
// changes, and he learns nothing about it. Administrators' commands are refused.
func TestMatrixOfOthersThings(t *testing.T) {
	t.Parallel()
	m, hers := newMatrix(t)
	m.each(hers, func(command, what string, send func(int64)) {
		before := m.rowsOfAnna(hers.user)
		if mayDo[command] {
			send(boris)
		} else {
			m.unchanged(what, func() { send(boris) })
		}
		if m.rowsOfAnna(hers.user) != before {
			t.Errorf("%s of another person has changed what is Anna's", what)
		}
	})
	m.showsNothing(boris)

	for _, command := range m.bot.commands {
		if command.Admin && !m.audited("bot:/"+command.Name, "", account.OutcomeRefused) {
			t.Errorf("/%s was not refused", command.Name)
		}
	}
}

// TestMatrixOfOnesOwnThings has Anna and an administrator do the same with Anna's things, to prove that the matrix
// refers to things that exist.
func TestMatrixOfOnesOwnThings(t *testing.T) {
	t.Parallel()
	m, hers := newMatrix(t)
	before := m.rowsOfAnna(hers.user)
	m.each(hers, func(_, _ string, send func(int64)) { send(anna) })
	if m.rowsOfAnna(hers.user) == before || m.shown(anna) < 3 {
		t.Errorf("Anna has changed nothing of hers, or sees nothing of it: %d times", m.shown(anna))
	}
	m.each(hers, func(_, _ string, send func(int64)) { send(boss) })
	if m.shown(boss) == 0 {
		t.Error("an administrator sees nothing of it")
	}
}

// rowsOfAnna is a checksum of all that belongs to a person.
func (m *matrix) rowsOfAnna(id int64) (sum string) {
	m.t.Helper()
	m.must(m.db.QueryRow(m.t.Context(), `SELECT concat_ws(' ',
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM jobs t WHERE user_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM workspaces t WHERE owner_id = $1),
		(SELECT count(*) FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id WHERE w.owner_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY t.id)) FROM tasks t
			JOIN workspaces w ON w.id = t.workspace_id WHERE w.owner_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM download_jobs t WHERE user_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY hash)) FROM transactions t),
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM sessions t WHERE user_id = $1),
		(SELECT md5(t::text) FROM users t WHERE id = $1))`, id).Scan(&sum))
	return sum
}
