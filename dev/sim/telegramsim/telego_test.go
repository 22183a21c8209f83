package telegramsim

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mymmrac/telego"
	"github.com/mymmrac/telego/telegoapi"
	"github.com/mymmrac/telego/telegoutil"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/simtest"
)

// TestTelego drives the stand-in with the client that the product uses.
func TestTelego(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	client, err := telego.NewBot(testToken, telego.WithHTTPClient(http.DefaultClient), telego.WithDiscardLogger(),
		telego.WithAPIServer(strings.TrimSuffix(base, "/bot"+testToken+"/")))
	if err != nil {
		t.Fatal(err)
	}

	ctx := t.Context()
	if me, err := client.GetMe(ctx); err != nil || me.ID != 123456 || !me.IsBot {
		t.Fatal(me, err)
	}

	updates, err := client.GetUpdates(
		ctx, &telego.GetUpdatesParams{Timeout: 1, AllowedUpdates: []string{"message", "callback_query"}},
	)
	if err != nil || len(updates) != 1 || updates[0].Message.Text != "/start" || updates[0].Message.From.LanguageCode != "en" {
		t.Fatal(updates, err)
	}

	offset := updates[0].UpdateID + 1

	button := telegoutil.InlineKeyboard(
		telegoutil.InlineKeyboardRow(telegoutil.InlineKeyboardButton("Go").WithCallbackData("go")),
	)

	text, err := client.SendMessage(ctx, telegoutil.Message(telegoutil.ID(7), "hello").WithReplyMarkup(button))
	if err != nil || text.Text != "hello" || text.ReplyMarkup == nil {
		t.Fatal(text, err)
	}
	if err := tg.Click(7, "go"); err != nil {
		t.Fatal(err)
	}

	updates, err = client.GetUpdates(ctx, &telego.GetUpdatesParams{Offset: offset, Timeout: 1})
	if err != nil || len(updates) != 1 {
		t.Fatal(updates, err)
	}

	query := updates[0].CallbackQuery
	if query.Data != "go" || query.Message.GetMessageID() != text.MessageID || query.From.ID != 7 {
		t.Fatalf("%+v", query)
	}
	if err := client.AnswerCallbackQuery(ctx, telegoutil.CallbackQuery(query.ID).WithText("done")); err != nil {
		t.Fatal(err)
	}
	if got := tg.Callbacks(); len(got) != 1 || got[0].Text != "done" {
		t.Fatalf("%+v", got)
	}

	edit := &telego.EditMessageTextParams{ChatID: telegoutil.ID(7), MessageID: text.MessageID, Text: "bye"}
	if _, err := client.EditMessageText(ctx, edit); err != nil {
		t.Fatal(err)
	}

	var refused *telegoapi.Error
	if _, err := client.EditMessageText(ctx, edit); !errors.As(err, &refused) || refused.ErrorCode != 400 {
		t.Fatal(err)
	}

	const size = 20 << 20
	document := telegoutil.Document(
		telegoutil.ID(7), telegoutil.File(telegoutil.NameReader(io.LimitReader(endless{}, size), "фильм.mkv")),
	).
		WithCaption("a film").WithReplyMarkup(button)

	file, err := client.SendDocument(ctx, document)
	if err != nil || file.Document.FileSize != size || file.Document.FileName != "фильм.mkv" || file.Caption != "a film" {
		t.Fatal(file, err)
	}

	again, err := client.SendDocument(
		ctx, telegoutil.Document(telegoutil.ID(7), telegoutil.FileFromID(file.Document.FileID)),
	)
	if err != nil || again.Document.FileUniqueID != file.Document.FileUniqueID {
		t.Fatal(again, err)
	}
	if err := client.DeleteMessage(ctx, &telego.DeleteMessageParams{ChatID: telegoutil.ID(7), MessageID: again.MessageID}); err != nil {
		t.Fatal(err)
	}
	if err := client.SetMyCommands(ctx, &telego.SetMyCommandsParams{Commands: []telego.BotCommand{{Command: "files", Description: "Files"}}}); err != nil {
		t.Fatal(err)
	}

	tg.AddFault(sim.Fault{Match: "sendMessage", Kind: "429", Times: 1, RetryAfter: 5})
	_, err = client.SendMessage(ctx, telegoutil.Message(telegoutil.ID(7), "hello"))
	if !errors.As(err, &refused) || refused.ErrorCode != 429 || refused.Parameters == nil || refused.Parameters.RetryAfter != 5 {
		t.Fatal(err)
	}

	// A delivery that is cancelled in mid-stream stops at once and leaves no message.
	before := documents(tg)
	cancelled, cancel := context.WithCancel(ctx)
	source := telegoutil.NameReader(&cancelAfter{n: 4 << 20, cancel: cancel}, "a.bin")
	if _, err := client.SendDocument(cancelled, telegoutil.Document(telegoutil.ID(7), telegoutil.File(source))); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}

	simtest.Eventually(t, "the upload ends", func() bool {
		all := tg.Requests()
		return all[len(all)-1].Done
	})
	if documents(tg) != before {
		t.Fatal("a cancelled upload counts as a message")
	}
}

// endless gives zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// cancelAfter gives zeros without end and cancels after n of them.
type cancelAfter struct {
	n      int
	cancel context.CancelFunc
}

func (c *cancelAfter) Read(p []byte) (int, error) {
	if c.n -= len(p); c.n < 0 {
		c.cancel()
	}
	return len(p), nil
}
