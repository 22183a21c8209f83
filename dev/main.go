// Command dev runs Stagecoach, its servers and the simulators on this machine.
package main

import (
	"context"
	"os"

	"stagecoach/dev/cli"
)

func main() { os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }
