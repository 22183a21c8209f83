package telegram

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/mymmrac/telego/telegoapi"

	"stagecoach/internal/fault"
)

// Classify turns the error of a Bot API call into a fault, by the one table of Telegram's answers.
func Classify(err error) *fault.Error {
	answer, answered := errors.AsType[*telegoapi.Error](err)
	if !answered {
		if known := fault.As(err); known != nil {
			return known
		}
		return fault.New(fault.TelegramUnavailable, "the connection to Telegram failed").Retry().WithCause(err)
	}

	description := strings.ToLower(answer.Description)
	switch code := answer.ErrorCode; {
	case code == http.StatusTooManyRequests:
		limited := fault.New(fault.TelegramRateLimited, "Telegram asks to slow down").Retry()
		if answer.Parameters != nil {
			limited = limited.After(time.Duration(answer.Parameters.RetryAfter) * time.Second)
		}
		return limited
	case code == http.StatusForbidden:
		return fault.New(fault.TelegramForbidden, "the user blocked the bot or is gone").WithCause(err)
	case code == http.StatusUnauthorized || code == http.StatusNotFound && description == "not found":
		return fault.New(fault.TelegramUnauthorized, "Telegram refuses the bot's token").WithCause(err)
	case code == http.StatusRequestEntityTooLarge:
		return fault.New(fault.FileTooBig, "Telegram says that the file is too big").WithCause(err)
	case strings.Contains(description, "file identifier"), strings.Contains(description, "file_id"),
		strings.Contains(description, "file reference"):
		return fault.New(fault.TelegramFileID, "Telegram no longer knows this file").WithCause(err)
	case strings.Contains(description, "chat not found"):
		return fault.New(fault.TelegramForbidden, "Telegram does not know this chat").WithCause(err)
	case code >= http.StatusInternalServerError:
		return fault.New(fault.TelegramUnavailable, "Telegram answered %d", code).Retry().WithCause(err)
	default:
		return fault.New(fault.TelegramRejected, "Telegram answered %d", code).WithCause(err)
	}
}

// foreignAnswer converts an answer that is not Telegram's own JSON, such as a proxy's page: only the status can be
// read. The Bot API server itself sends no body with a 413.
func foreignAnswer(status int) *fault.Error {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return fault.New(fault.FileTooBig, "Telegram says that the file is too big")
	case http.StatusTooManyRequests:
		return fault.New(fault.TelegramRateLimited, "Telegram asks to slow down").Retry()
	default:
		return fault.New(fault.TelegramUnavailable, "a proxy before Telegram answered %d", status).Retry()
	}
}

// Unanswered says that a request may have been carried out although it failed. Only Telegram's own JSON is an answer: a
// broken connection, a proxy's page and an empty body are no answers. JSON is no answer either when it says that the
// server was interrupted, or that the gateway before it got no answer.
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
