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

// newStandIn makes the commands with which the containers of the demonstration run the stand-ins.
func newStandIn() *cobra.Command {
	return terminal.Group(&cobra.Command{Use: "standin", Short: "Run the stand-in for one outside system alone, until Ctrl-C"},
		newTelegramStandIn(), newYandexStandIn(), newQBittorrentStandIn(), newTonCenterStandIn(), newFragmentStandIn(), newOIDCStandIn(),
		newTorznabStandIn())
}

func newTelegramStandIn() *cobra.Command {
	var o telegramsim.Options
	cmd := standInCommand("telegram", "Stands in for Telegram and its Local Bot API server", "127.0.0.1:8081", &o.Dir, "what chats receive",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.Token, "token", "1000000:only-for-the-stand-in-and-its-tests", "the bot's token")
	cmd.Flags().StringVar(&o.SharedDir, "shared-dir", "", "a folder whose files the bot may send by their paths")
	return cmd
}

func newYandexStandIn() *cobra.Command {
	// those of .env.dev
	o := yandexsim.Options{ClientID: "stand-in", ClientSecret: "stand-in", RefreshToken: "stand-in-refresh"}
	cmd := standInCommand("yandex", "Stands in for Yandex Disk and Yandex OAuth", "127.0.0.1:8082", &o.Dir, "the files of the disk",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.StateFile, "state-file", "", "keeps the tokens over a restart (default: memory only)")
	return cmd
}

func newQBittorrentStandIn() *cobra.Command {
	o := torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{
		Hidden: 10 * time.Millisecond, Meta: 2 * time.Second, Check: 500 * time.Millisecond, Size: 100 << 20,
	}}
	cmd := standInCommand("qbittorrent", "Stands in for qBittorrent's Web API; no bytes move", "127.0.0.1:8083", &o.Dir, "what is known of the torrents",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().DurationVar(&o.Plan.Duration, "duration", 20*time.Second, "until a torrent is complete (negative: never)")
	return cmd
}

func newTonCenterStandIn() *cobra.Command {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x5e}, ed25519.SeedSize)) // that of .env.dev
	o := tonsim.TonCenterOptions{PublicKey: hex.EncodeToString(key.Public().(ed25519.PublicKey))}
	return standInCommand("toncenter", "Stands in for the TON blockchain and toncenter", "127.0.0.1:8084", &o.Dir, "the chain",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
}

func newFragmentStandIn() *cobra.Command {
	var o tonsim.FragmentOptions
	cmd := standInCommand("fragment", "Stands in for Fragment, which sells Telegram Stars", "127.0.0.1:8085", &o.Dir, "users and purchases",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.TonCenterURL, "toncenter", "http://127.0.0.1:8084", "where it looks for payments")
	return cmd
}

func newOIDCStandIn() *cobra.Command {
	o := oidcsim.Options{ClientID: "stand-in", ClientSecret: "stand-in"} // those of .env.dev
	cmd := standInCommand("oidc", "Stands in for a provider of OpenID Connect", "127.0.0.1:8086", nil, "",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.BrowserURL, "browser-url", "", "where browsers reach it (default: as the service does)")
	return cmd
}

func newTorznabStandIn() *cobra.Command {
	o := torznabsim.Options{Key: "only-for-the-stand-in"}   // that of .env.dev
	magnet := func(hash string) *torrentsim.SeededTorrent { // the stand-in for qBittorrent completes any
		return &torrentsim.SeededTorrent{Size: 16 << 20, InfohashV1: hash}
	}
	o.Releases = stack.Releases(magnet(strings.Repeat("de", 20)), magnet(strings.Repeat("5e", 20)), magnet(strings.Repeat("ad", 20)))
	return standInCommand("torznab", "Stands in for Prowlarr, which searches for releases", "127.0.0.1:8089", nil, "",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
}

// standInCommand makes the command of a stand-in, which open opens once the flags are read; dir is nil for one that keeps
// nothing.
func standInCommand(
	name, short, addr string, dir *string, holds string, open func() (stack.StandIn, error),
) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Args: terminal.AsUsed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir != nil && *dir == "" {
				return terminal.UsageError("--dir is required: the folder that holds " + holds)
			}
			ctx, stopListening := terminal.UntilAsked(cmd.Context())
			defer stopListening()
			return serveStandIn(ctx, cmd, name, addr, open)
		},
	}

	cmd.Flags().StringVar(&addr, "addr", addr, "where it listens")
	if dir != nil {
		cmd.Flags().StringVar(dir, "dir", "", "the folder that holds "+holds)
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
		return errors.Join(fmt.Errorf("%w: choose another place with --addr", err), standIn.Close())
	}
	defer func() { err = errors.Join(err, served.Close()) }()

	fmt.Fprintf(
		cmd.OutOrStdout(), "%s stand-in: %s (steered under %s/_/, Ctrl-C stops)\n", name, served.URL, served.URL,
	)
	<-ctx.Done()
	return nil
}
