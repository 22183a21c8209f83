// Command worker runs Stagecoach's workflows and activities.
package main

import (
	"os"

	"stagecoach/internal/app"
	"stagecoach/worker/run"
)

func main() { os.Exit(app.Main(run.Run)) }
