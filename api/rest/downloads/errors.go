package downloads

import (
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// kinds are the error codes specific to operations on downloads.
var kinds = map[fault.Code]server.Kind{
	fault.BookNotFound:         {Status: http.StatusNotFound, Title: "Book not found"},
	fault.DownloadNotFound:     {Status: http.StatusNotFound, Title: "Download not found"},
	fault.MediaNotReady:        {Status: http.StatusConflict, Title: "The library has no files for it"},
	fault.TooManyFiles:         {Status: http.StatusUnprocessableEntity, Title: "Too many files to send at once"},
	fault.ProviderUnavailable:  {Status: http.StatusServiceUnavailable, Title: "qBittorrent is unreachable"},
	fault.ProviderUnauthorized: {Status: http.StatusServiceUnavailable, Title: "qBittorrent denied access to the service"},
	fault.ProviderRejected:     {Status: http.StatusServiceUnavailable, Title: "qBittorrent rejected the request"},
}
