// Command worker runs Stagecoach's workflows and activities.
package main

import (
	"os"

	"stagecoach/internal/app"
)

func main() { os.Exit(app.Main(app.Worker)) }
