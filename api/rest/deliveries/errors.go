package deliveries

import (
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// kinds are the codes that the operations of deliveries answer with, besides those of any operation.
var kinds = map[fault.Code]server.Kind{
	fault.DeliveryNotFound:   {Status: http.StatusNotFound, Title: "There is no such delivery"},
	fault.NoTelegramChat:     {Status: http.StatusConflict, Title: "The user has no Telegram chat"},
	fault.FileNotFound:       {Status: http.StatusNotFound, Title: "There is no such file or folder"},
	fault.FileIsFolder:       {Status: http.StatusUnprocessableEntity, Title: "This is a folder"},
	fault.FileEmpty:          {Status: http.StatusUnprocessableEntity, Title: "The file is empty"},
	fault.FileTooBig:         {Status: http.StatusUnprocessableEntity, Title: "The file is too big"},
	fault.FileChanged:        {Status: http.StatusConflict, Title: "The file has changed"},
	fault.YandexUnauthorized: {Status: http.StatusServiceUnavailable, Title: "The file storage refuses the service"},
	fault.YandexLocked:       {Status: http.StatusServiceUnavailable, Title: "The file is locked"},
	fault.YandexUnavailable:  {Status: http.StatusServiceUnavailable, Title: "The file storage is unavailable"},
	fault.YandexProtocol:     {Status: http.StatusServiceUnavailable, Title: "The file storage sent an unexpected answer"},
}
