// Command starter is Stagecoach's command line.
package main

import (
	"context"
	"os"

	"stagecoach/starter/command"
)

func main() { os.Exit(command.Run(context.Background(), os.Args, os.Stdout, os.Stderr)) }
