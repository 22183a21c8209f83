// Command worker runs Stagecoach's workflows and activities.
package main

import (
	"os"

	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/worker/run"
)

func main() { os.Exit(app.Main(config.ForWorker, run.Run)) }
