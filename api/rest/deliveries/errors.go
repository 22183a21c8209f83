package deliveries

import (
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// kinds are the error codes specific to operations on deliveries.
var kinds = map[fault.Code]server.Kind{
	fault.DeliveryNotFound:   {Status: http.StatusNotFound, Title: "Delivery not found"},
	fault.NoTelegramChat:     {Status: http.StatusConflict, Title: "The user has no Telegram chat"},
	fault.FileNotFound:       {Status: http.StatusNotFound, Title: "File or folder not found"},
	fault.FileIsFolder:       {Status: http.StatusUnprocessableEntity, Title: "This is a folder"},
	fault.FileEmpty:          {Status: http.StatusUnprocessableEntity, Title: "The file is empty"},
	fault.FileTooBig:         {Status: http.StatusUnprocessableEntity, Title: "The file is too large"},
	fault.FileChanged:        {Status: http.StatusConflict, Title: "The file has changed"},
	fault.YandexUnauthorized: {Status: http.StatusServiceUnavailable, Title: "The file storage denied access to the service"},
	fault.YandexLocked:       {Status: http.StatusServiceUnavailable, Title: "The file is locked"},
	fault.YandexLimit:        {Status: http.StatusServiceUnavailable, Title: "The file was downloaded too many times today"},
	fault.YandexUnavailable:  {Status: http.StatusServiceUnavailable, Title: "The file storage is unavailable"},
	fault.YandexProtocol:     {Status: http.StatusServiceUnavailable, Title: "The file storage sent an unexpected response"},
}
