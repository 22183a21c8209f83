package downloads

import (
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// kinds are the codes that the operations of downloads answer with, besides those of any operation.
var kinds = map[fault.Code]server.Kind{
	fault.BookNotFound:         {Status: http.StatusNotFound, Title: "There is no such book"},
	fault.DownloadNotFound:     {Status: http.StatusNotFound, Title: "There is no such download"},
	fault.MediaNotReady:        {Status: http.StatusConflict, Title: "The library has no files of it"},
	fault.TooManyFiles:         {Status: http.StatusUnprocessableEntity, Title: "Too many files to send at once"},
	fault.ProviderUnavailable:  {Status: http.StatusServiceUnavailable, Title: "qBittorrent cannot be reached"},
	fault.ProviderUnauthorized: {Status: http.StatusServiceUnavailable, Title: "qBittorrent refuses the service"},
	fault.ProviderRejected:     {Status: http.StatusServiceUnavailable, Title: "qBittorrent refuses the request"},
}
