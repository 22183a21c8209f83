// Command dev runs Stagecoach and the world around it on this machine.
package main

import (
	"context"
	"os"

	"stagecoach/dev/cli"
)

func main() { os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }
