package telegramsim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/simtest"
	"stagecoach/dev/wait"
)

func TestSendDocument(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	content := bytes.Repeat([]byte("content\r\n--"), 100_000)
	body, contentType := form(t, map[string]string{
		"chat_id": "7", "caption": "a film", "reply_markup": `{"inline_keyboard":[[{"text":"a","callback_data":"b"}]]}`,
	}, "document", "Фильм.mkv", content)

	response, err := http.Post(base+"sendDocument", contentType, bytes.NewReader(body))
	if err != nil || response.StatusCode != 200 {
		t.Fatal(response, err)
	}

	_ = response.Body.Close()
	m := tg.Chat(7).Messages[1]
	sum := sha256.Sum256(content)
	if m.Caption != "a film" || m.Buttons[0][0].Data != "b" || m.Document.Name != "Фильм.mkv" ||
		m.Document.Size != int64(len(content)) || m.Document.SHA256 != hex.EncodeToString(sum[:]) {
		t.Fatalf("%+v %+v", m, m.Document)
	}
	if want := filepath.Join(tg.options.Dir, "7", strconv.FormatInt(m.MessageID, 10)+"-Фильм.mkv"); m.Document.Path != want {
		t.Fatal(m.Document.Path)
	}
	if got, err := os.ReadFile(m.Document.Path); err != nil || !bytes.Equal(got, content) {
		t.Fatal("other bytes on disk", err)
	}

	root := strings.TrimSuffix(base, "/bot"+testToken+"/") + "/_/chats/7/messages/"
	status, got := simtest.Do(t, "GET", root+strconv.FormatInt(m.MessageID, 10)+"/document", nil)
	if status != 200 || !bytes.Equal(got, content) {
		t.Fatal(status, len(got))
	}

	for path, want := range map[string]int{"1/document": 404, "x/document": 400} {
		if status, _ := simtest.Do(t, "GET", root+path, nil); status != want {
			t.Error(path, status)
		}
	}
}

func TestSendDocumentAgain(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	var m sent
	sendFileReply(t, base, "a.txt", []byte("content")).must(t, &m)
	if m.Document.FileName != "a.txt" || m.Document.FileSize != 7 || m.Document.MimeType == "" {
		t.Fatalf("%+v", m.Document)
	}

	tg.SendMessage(8, "/start")
	var again sent
	bot(t, base, "sendDocument", map[string]any{"chat_id": 8, "document": m.Document.FileID}).must(t, &again)
	if again.Document.FileID != m.Document.FileID || again.MessageID == m.MessageID {
		t.Fatalf("%+v", again)
	}

	first, second := tg.Chat(7).Messages[1].Document, tg.Chat(8).Messages[1].Document
	if second.SHA256 != first.SHA256 || second.Path != first.Path {
		t.Fatalf("%+v", second)
	}
	if got, err := os.ReadFile(second.Path); err != nil || string(got) != "content" {
		t.Fatal(string(got), err)
	}

	for document, want := range map[string]string{
		"no-such-id":      "wrong file identifier/HTTP URL specified",
		"file:///etc/ssl": "wrong file identifier/HTTP URL specified", // no shared folder is set
		"":                "there is no document in the request",
	} {
		bot(t, base, "sendDocument", map[string]any{"chat_id": 7, "document": document}).wants(t, 400, want)
	}

	bot(
		t, base, "sendDocument", map[string]any{"chat_id": 9, "document": m.Document.FileID},
	).wants(t, 400, "chat not found")
	bot(
		t, base, "sendDocument", map[string]any{"chat_id": 7, "caption": strings.Repeat("x", 1025)},
	).wants(t, 400, "message caption is too long")
}

func TestSendDocumentRefusals(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, func(o *Options) { o.MaxFileSize = 1000 })
	sendFileReply(t, base, "a", nil).wants(t, 400, "Bad Request: file must be non-empty")
	sendFileReply(t, base, "a", make([]byte, 1000)).must(t, nil)
	response, err := sendFile(t, base, "a", make([]byte, 1001))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	if body, _ := io.ReadAll(response.Body); response.StatusCode != 413 || len(body) != 0 {
		t.Fatal(response.Status, string(body))
	}

	body, contentType := form(t, map[string]string{"chat_id": "8"}, "document", "a", []byte("x"))
	unknown, err := http.Post(base+"sendDocument", contentType, bytes.NewReader(body))
	if err != nil || unknown.StatusCode != 400 {
		t.Fatal(unknown, err)
	}

	_ = unknown.Body.Close()
	if documents(tg) != 1 {
		t.Error(documents(tg))
	}
	if left, _ := os.ReadDir(tg.uploadDir()); len(left) != 0 {
		t.Error("refused files are left behind")
	}
}

func TestTruncatedUploadIsNoMessage(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	whole, contentType := form(t, map[string]string{"chat_id": "7"}, "document", "a", bytes.Repeat([]byte("x"), 100_000))
	// The HTTP body is complete, but the multipart body in it is not.
	for _, size := range []int{len(whole) - 5, len(whole) - 100, len(whole) / 2, 300} {
		response, err := http.Post(base+"sendDocument", contentType, bytes.NewReader(whole[:size]))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != 400 {
			t.Error(size, response.Status)
		}
	}

	// The source breaks mid-body: the HTTP body itself is incomplete.
	broken := io.MultiReader(bytes.NewReader(whole[:50_000]), brokenReader{})
	if response, err := http.Post(base+"sendDocument", contentType, broken); err == nil {
		_ = response.Body.Close()
		t.Error(response.Status)
	}

	wait.Eventually(t, "all requests end", func() bool {
		for _, r := range tg.Requests() {
			if !r.Done {
				return false
			}
		}
		return len(tg.Requests()) == 5
	})

	if documents(tg) != 0 {
		t.Error("a truncated upload counts as a message")
	}
	if left, _ := os.ReadDir(tg.uploadDir()); len(left) != 0 {
		t.Error("a truncated upload left a file behind")
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestSharedFolder(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	tg, base := telegramTest(t, func(o *Options) { o.SharedDir = shared })
	path := filepath.Join(shared, "100% я.txt")
	if err := os.WriteFile(path, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(shared, "link")); err != nil {
		t.Fatal(err)
	}

	uri := (&url.URL{Scheme: "file", Path: path}).String()
	bot(t, base, "sendDocument", map[string]any{"chat_id": 7, "document": uri}).must(t, nil)
	d := tg.Chat(7).Messages[1].Document
	if d.Name != "100% я.txt" || d.Size != 7 {
		t.Fatalf("%+v", d)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("the shared file is gone: ", err)
	}

	for _, bad := range []string{
		"file:///etc/hostname", "file://" + shared + "/../hostname", "file://" + shared + "/link",
		"file://" + shared + "/none", "file:%zz",
	} {
		bot(t, base, "sendDocument", map[string]any{"chat_id": 7, "document": bad}).wants(t, 400, "wrong file identifier")
	}
}

func TestDiscardFiles(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, func(o *Options) { o.DiscardFiles = true })
	var m sent
	sendFileReply(t, base, "a", []byte("x")).must(t, &m)
	bot(t, base, "sendDocument", map[string]any{"chat_id": 7, "document": m.Document.FileID}).must(t, nil)

	for _, m := range tg.Chat(7).Messages[1:] {
		if m.Document.Path != "" || m.Document.Size != 1 || m.Document.SHA256 == "" {
			t.Errorf("%+v", m.Document)
		}
	}

	if _, err := os.Stat(filepath.Join(tg.options.Dir, "7")); err == nil {
		t.Error("files are kept")
	}
}

func TestTelegramRestart(t *testing.T) {
	t.Parallel()
	o := Options{Dir: t.TempDir(), Token: testToken}
	tg, err := New(o)
	if err != nil {
		t.Fatal(err)
	}

	url, stop, err := sim.Start("127.0.0.1:0", tg)
	if err != nil {
		t.Fatal(err)
	}

	base := url + "/bot" + testToken + "/"
	tg.SendMessage(7, "/start")
	tg.SendMessage(7, "acknowledged")
	var updates []struct {
		UpdateID int64 `json:"update_id"`
	}

	bot(t, base, "getUpdates", nil).must(t, &updates)
	bot(t, base, "getUpdates", map[string]any{"offset": updates[1].UpdateID}).must(t, nil)
	var file, text sent
	sendFileReply(t, base, "a.txt", []byte("content")).must(t, &file)
	bot(
		t, base, "sendMessage", map[string]any{"chat_id": 7, "text": "one", "reply_markup": keyboard("a", "a")},
	).must(t, &text)
	bot(
		t, base, "editMessageText",
		map[string]any{"chat_id": 7, "message_id": text.MessageID, "text": "two", "reply_markup": keyboard("b", "b")},
	).must(t, nil)
	if err := tg.Click(7, "b"); err != nil {
		t.Fatal(err)
	}

	before := tg.Chat(7)
	stop()
	if err := tg.Close(); err != nil {
		t.Fatal(err)
	}

	journal, err := os.OpenFile(filepath.Join(o.Dir, "journal.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}

	_, _ = journal.WriteString(`{"chat":7,"mess`) // a crash during a write
	_ = journal.Close()

	again, err := New(o)
	if err != nil {
		t.Fatal(err)
	}

	base = simtest.Serve(t, again) + "/bot" + testToken + "/"
	after := again.Chat(7)
	if len(after.Messages) != len(before.Messages) || after.Messages[3].Text != "two" ||
		after.Messages[2].Document.Path != before.Messages[2].Document.Path {
		t.Fatalf("%+v", after)
	}

	var pending []struct {
		UpdateID int64               `json:"update_id"`
		Query    struct{ ID string } `json:"callback_query"`
	}

	bot(t, base, "getUpdates", nil).must(t, &pending)
	if len(pending) != 2 || pending[0].UpdateID != updates[1].UpdateID {
		t.Fatalf("%+v", pending)
	}

	bot(t, base, "answerCallbackQuery", map[string]any{"callback_query_id": pending[1].Query.ID}).must(t, nil)
	var next sent
	bot(t, base, "sendDocument", map[string]any{"chat_id": 7, "document": file.Document.FileID}).must(t, &next)
	if next.MessageID <= text.MessageID {
		t.Fatal("a message id came twice")
	}

	again.SendMessage(7, "new")
	bot(t, base, "getUpdates", map[string]any{"offset": pending[1].UpdateID + 1}).must(t, &pending)
	if len(pending) != 1 {
		t.Fatal("an update id came twice")
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}

	third, err := New(o) // the incomplete line is gone, so the lines after it can be read
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = third.Close() }()

	if got := third.Chat(7).Messages; len(got) != len(after.Messages)+2 {
		t.Fatal(len(got))
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "journal.jsonl"), []byte("{\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := New(o); err == nil {
		t.Fatal("a broken journal is taken")
	}
}
