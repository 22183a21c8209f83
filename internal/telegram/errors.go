package telegram

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mymmrac/telego"
	"github.com/mymmrac/telego/telegoapi"

	"stagecoach/internal/fault"
)

// Classify converts the error of a Bot API call into a fault, by the only table of Telegram's answers.
func Classify(err error) *fault.Error {
	answer, answered := errors.AsType[*telegoapi.Error](err)
	if !answered {
		if known := fault.As(err); known != nil {
			return known
		}
		return fault.New(fault.TelegramUnavailable, "the connection to Telegram failed").Retry().WithCause(err)
	}

	description := strings.ReplaceAll(strings.ToLower(answer.Description), "_", " ") // FILE_REFERENCE_EXPIRED is one
	switch code := answer.ErrorCode; {
	case code == http.StatusTooManyRequests:
		limited := fault.New(fault.TelegramRateLimited, "Telegram limits our rate").Retry()
		if answer.Parameters != nil {
			limited = limited.After(time.Duration(answer.Parameters.RetryAfter) * time.Second)
		}
		return limited
	case code == http.StatusForbidden:
		return fault.New(fault.TelegramForbidden, "the user blocked the bot or is gone").WithCause(err)
	case code == http.StatusUnauthorized || code == http.StatusNotFound && description == "not found":
		return fault.New(fault.TelegramUnauthorized, "Telegram rejected the bot's token").WithCause(err)
	case code == http.StatusRequestEntityTooLarge:
		return fault.New(fault.FileTooBig, "Telegram says that the file is too big").WithCause(err)
	case strings.Contains(description, "file identifier"), strings.Contains(description, "file id"),
		strings.Contains(description, "file reference"), strings.Contains(description, "type of file mismatch"):
		return fault.New(fault.TelegramFileID, "Telegram no longer knows this file").WithCause(err)
	case strings.Contains(description, "chat not found"):
		return fault.New(fault.TelegramForbidden, "Telegram does not know this chat").WithCause(err)
	case code >= http.StatusInternalServerError:
		return fault.New(fault.TelegramUnavailable, "Telegram answered %d", code).Retry().WithCause(err)
	default:
		return fault.New(fault.TelegramRejected, "Telegram answered %d", code).WithCause(err)
	}
}

// foreignAnswer converts an answer that is not Telegram's own JSON, such as a proxy's page: only the status is
// readable. The Bot API server itself sends no body with a 413.
func foreignAnswer(status int) *fault.Error {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return fault.New(fault.FileTooBig, "Telegram says that the file is too big")
	case http.StatusTooManyRequests:
		return fault.New(fault.TelegramRateLimited, "Telegram limits our rate").Retry()
	default:
		return fault.New(fault.TelegramUnavailable, "a proxy in front of Telegram answered %d", status).Retry()
	}
}

// Unanswered reports whether a request may have been carried out although it failed. Only Telegram's own JSON is an
// answer: a broken connection, a proxy's page and an empty body are not. Neither is JSON reporting that the server was
// interrupted, or that the gateway before it got no answer.
func Unanswered(err error) bool {
	answer, answered := errors.AsType[*telegoapi.Error](err)
	if !answered {
		return !NothingSent(err)
	}

	switch answer.ErrorCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		description := strings.ToLower(answer.Description)
		return strings.Contains(description, "restart") || strings.Contains(description, "abort")
	default:
		return false
	}
}

// FolderUnreadable reports whether the server rejected a file by its path in a shared folder: it runs without --local,
// or does not see the folder.
func FolderUnreadable(err error) bool {
	answer, answered := errors.AsType[*telegoapi.Error](err)
	if !answered || answer.ErrorCode != http.StatusBadRequest {
		return false
	}
	description := strings.ToLower(answer.Description)
	return slices.ContainsFunc([]string{"file identifier", "unsupported url", "realpath", "file not found", "wrong http url"}, func(text string) bool {
		return strings.Contains(description, text)
	})
}

// FileID is the file_id of a message's file, of any type; empty: none.
func FileID(m *telego.Message) string {
	switch {
	case m.Document != nil: // also beside an animation
		return m.Document.FileID
	case m.Audio != nil:
		return m.Audio.FileID
	case m.Video != nil:
		return m.Video.FileID
	case m.Animation != nil:
		return m.Animation.FileID
	case m.Voice != nil:
		return m.Voice.FileID
	case m.Sticker != nil:
		return m.Sticker.FileID
	default:
		return ""
	}
}
