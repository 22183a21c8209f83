package run

import (
	"stagecoach/api/opds"
	"stagecoach/api/rest/server"
	"stagecoach/internal/shelf"
)

// registerOPDS serves the library folder to reading apps, if there is one.
func (p process) registerOPDS(api *server.Server) {
	opds.Register(api, p.services.Downloads, shelf.Folder{Dir: p.Config.Library.Dir})
}
