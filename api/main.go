// Command api serves Stagecoach's HTTP API and its Telegram bot.
package main

import (
	"os"

	"stagecoach/internal/app"
)

func main() { os.Exit(app.Main(app.API)) }
