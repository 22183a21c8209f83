// Command api serves Stagecoach's HTTP API and its Telegram bot.
package main

import (
	"os"

	"stagecoach/api/run"
	"stagecoach/internal/app"
)

func main() { os.Exit(app.Main(run.Run)) }
