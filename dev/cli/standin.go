package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/dev/sim/oidcsim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/dev/stack"
	"stagecoach/starter/terminal"
)

// newStandIn makes the commands with which the demonstration's containers run the simulators.
func newStandIn() *cobra.Command {
	return terminal.Group(&cobra.Command{Use: "standin", Short: "Run the simulator of one external system on its own, until Ctrl-C"},
		newTelegramStandIn(), newYandexStandIn(), newQBittorrentStandIn(), newTonCenterStandIn(), newFragmentStandIn(), newOIDCStandIn(),
		newTorznabStandIn())
}

func newTelegramStandIn() *cobra.Command {
	var o telegramsim.Options
	cmd := standInCommand("telegram", "Simulate Telegram and its Local Bot API server", "127.0.0.1:8081", &o.Dir, "what the chats receive",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.Token, "token", "1000000:only-for-the-stand-in-and-its-tests", "the bot's token")
	cmd.Flags().StringVar(&o.SharedDir, "shared-dir", "", "folder whose files the bot may send by path")
	return cmd
}

func newYandexStandIn() *cobra.Command {
	// as in .env.dev
	o := yandexsim.Options{ClientID: "stand-in", ClientSecret: "stand-in", RefreshToken: "stand-in-refresh"}
	cmd := standInCommand("yandex", "Simulate Yandex Disk and Yandex OAuth", "127.0.0.1:8082", &o.Dir, "the files of the disk",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.StateFile, "state-file", "", "file that keeps the tokens across restarts (default: memory only)")
	return cmd
}

func newQBittorrentStandIn() *cobra.Command {
	o := torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{
		Hidden: 10 * time.Millisecond, Meta: 2 * time.Second, Check: 500 * time.Millisecond, Size: 100 << 20,
	}}
	cmd := standInCommand("qbittorrent", "Simulate qBittorrent's Web API, without transferring data", "127.0.0.1:8083", &o.Dir, "the state of the torrents",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().DurationVar(&o.Plan.Duration, "duration", 20*time.Second, "time until a torrent is complete (negative: never)")
	return cmd
}

func newTonCenterStandIn() *cobra.Command {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x5e}, ed25519.SeedSize)) // as in .env.dev
	o := tonsim.TonCenterOptions{PublicKey: hex.EncodeToString(key.Public().(ed25519.PublicKey))}
	return standInCommand("toncenter", "Simulate the TON blockchain and toncenter", "127.0.0.1:8084", &o.Dir, "the chain",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
}

func newFragmentStandIn() *cobra.Command {
	var o tonsim.FragmentOptions
	cmd := standInCommand("fragment", "Simulate Fragment, which sells Telegram Stars", "127.0.0.1:8085", &o.Dir, "users and purchases",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.TonCenterURL, "toncenter", "http://127.0.0.1:8084", "URL of the toncenter to check for payments")
	return cmd
}

func newOIDCStandIn() *cobra.Command {
	o := oidcsim.Options{ClientID: "stand-in", ClientSecret: "stand-in"} // as in .env.dev
	cmd := standInCommand("oidc", "Simulate an OpenID Connect provider", "127.0.0.1:8086", nil, "",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.BrowserURL, "browser-url", "", "URL for browsers (default: the one that the service uses)")
	return cmd
}

func newTorznabStandIn() *cobra.Command {
	o := torznabsim.Options{Key: "only-for-the-stand-in"}   // as in .env.dev
	magnet := func(hash string) *torrentsim.SeededTorrent { // the simulated qBittorrent completes any
		return &torrentsim.SeededTorrent{Size: 16 << 20, InfohashV1: hash}
	}
	o.Releases = stack.Releases(magnet(strings.Repeat("de", 20)), magnet(strings.Repeat("5e", 20)), magnet(strings.Repeat("ad", 20)))
	return standInCommand("torznab", "Simulate Prowlarr, which searches for releases", "127.0.0.1:8089", nil, "",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
}

// standInCommand makes the command of a simulator, which open opens once the flags are parsed; dir is nil for one that
// keeps nothing.
func standInCommand(
	name, short, addr string, dir *string, holds string, open func() (stack.StandIn, error),
) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Args: terminal.AsUsed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir != nil && *dir == "" {
				return terminal.UsageError("--dir is required: the folder for " + holds)
			}
			ctx, stopListening := terminal.UntilAsked(cmd.Context())
			defer stopListening()
			return serveStandIn(ctx, cmd, name, addr, open)
		},
	}

	cmd.Flags().StringVar(&addr, "addr", addr, "address to listen on")
	if dir != nil {
		cmd.Flags().StringVar(dir, "dir", "", "folder for "+holds)
	}
	return cmd
}

func serveStandIn(
	ctx context.Context, cmd *cobra.Command, name, addr string, open func() (stack.StandIn, error),
) (err error) {
	standIn, err := open()
	if err != nil {
		return err
	}

	served, err := stack.Serve(addr, standIn)
	if err != nil {
		return errors.Join(fmt.Errorf("%w: choose another address with --addr", err), standIn.Close())
	}
	defer func() { err = errors.Join(err, served.Close()) }()

	fmt.Fprintf(
		cmd.OutOrStdout(), "%s simulator: %s (controlled at %s/_/, Ctrl-C stops)\n", name, served.URL, served.URL,
	)
	<-ctx.Done()
	return nil
}
