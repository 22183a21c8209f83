// Command api serves Stagecoach's HTTP API and its Telegram bot.
package main

import (
	"os"

	"stagecoach/api/run"
	"stagecoach/internal/app"
	"stagecoach/internal/config"
)

func main() { os.Exit(app.Main(config.ForAPI, run.Run)) }
