package cli

import (
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
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/dev/stack"
	"stagecoach/starter/terminal"
)

func newStandIn() *cobra.Command {
	return terminal.Group(&cobra.Command{Use: "standin", Short: "Run the stand-in for one outside system alone, until Ctrl-C"},
		newTelegramStandIn(), newYandexStandIn(), newQBittorrentStandIn(), newTonCenterStandIn(), newFragmentStandIn(), newOIDCStandIn())
}

func newTelegramStandIn() *cobra.Command {
	var o telegramsim.Options
	cmd := standInCommand("telegram", "Stands in for Telegram and its Local Bot API server", "127.0.0.1:8081", &o.Dir, "what chats receive",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.Token, "token", "1000000:only-for-the-stand-in-and-its-tests", "the bot's token")
	cmd.Flags().StringVar(
		&o.SharedDir, "shared-dir", "", "folder that file:// documents may lie in (default: such documents are refused)",
	)
	cmd.Flags().Int64Var(&o.BytesPerSecond, "bytes-per-second", 0, "speed of uploads (default: unlimited)")
	return cmd
}

func newYandexStandIn() *cobra.Command {
	var o yandexsim.Options
	cmd := standInCommand("yandex", "Stands in for Yandex Disk and Yandex OAuth", "127.0.0.1:8082", &o.Dir, "the files of the disk",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.ClientID, "client-id", "stand-in", "the OAuth application's id")
	cmd.Flags().StringVar(&o.ClientSecret, "client-secret", "stand-in", "and its secret")
	cmd.Flags().StringVar(&o.RefreshToken, "refresh-token", "stand-in-refresh", "the first valid refresh token")
	cmd.Flags().StringVar(&o.AccessToken, "access-token", "", "the first valid access token (default: none)")
	cmd.Flags().StringVar(&o.StateFile, "state-file", "", "keeps the tokens over a restart (default: memory only)")
	cmd.Flags().Int64Var(&o.BytesPerSecond, "bytes-per-second", 0, "speed of downloads (default: unlimited)")
	return cmd
}

func newQBittorrentStandIn() *cobra.Command {
	var o torrentsim.QBittorrentOptions
	cmd := standInCommand("qbittorrent", "Stands in for qBittorrent's Web API; no bytes move", "127.0.0.1:8083", &o.Dir, "what is known of the torrents",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.Username, "username", "admin", "of the Web API")
	cmd.Flags().StringVar(&o.Password, "password", "adminadmin", "and its password")
	cmd.Flags().StringVar(&o.SavePath, "save-path", "/downloads", "where torrents go that name no path")
	cmd.Flags().StringVar(&o.Version, "as", "4.5.2", "the version it plays: 4.5.2, 5.0.4 or 5.2.0")
	cmd.Flags().DurationVar(&o.Plan.Hidden, "hidden", 10*time.Millisecond, "until a torrent that was added shows")
	cmd.Flags().DurationVar(&o.Plan.Meta, "meta", 2*time.Second, "until a magnet link has its metadata (negative: never)")
	cmd.Flags().DurationVar(&o.Plan.Check, "check", 500*time.Millisecond, "until a torrent is checked")
	cmd.Flags().DurationVar(&o.Plan.Duration, "duration", 20*time.Second, "until a torrent is complete (negative: never)")
	cmd.Flags().Int64Var(&o.Plan.Size, "size", 100<<20, "bytes that a magnet link leads to")
	return cmd
}

func newTonCenterStandIn() *cobra.Command {
	var o tonsim.TonCenterOptions
	var seed string
	cmd := standInCommand("toncenter", "Stands in for the TON blockchain and toncenter", "127.0.0.1:8084", &o.Dir, "the chain",
		func() (stack.StandIn, error) {
			key, err := hex.DecodeString(seed)
			if err != nil || len(key) != ed25519.SeedSize {
				return nil, terminal.UsageError("--wallet-seed must be 64 hex digits")
			}
			o.PublicKey = hex.EncodeToString(ed25519.NewKeyFromSeed(key).Public().(ed25519.PublicKey))
			return stack.NewStandIn(o)
		})

	cmd.Flags().StringVar(
		&seed, "wallet-seed", strings.Repeat("5e", ed25519.SeedSize), "the key of the service's wallet, as a seed in hex",
	)
	cmd.Flags().Int64Var(&o.Balance, "balance", 0, "nanoTON that the wallet has at first (default: 10 GRAM)")
	cmd.Flags().BoolVar(&o.Undeployed, "undeployed", false, "the wallet's contract is not there before its first payment")
	cmd.Flags().DurationVar(&o.BlockTime, "block-time", 0, "until a message is in a block (default: at once)")
	cmd.Flags().DurationVar(&o.Finality, "finality", 0, "until a transaction is final (default: at once)")
	cmd.Flags().DurationVar(&o.Latency, "latency", 0, "added to every call")
	cmd.Flags().StringVar(&o.APIKey, "api-key", "", "the one valid key (default: any)")
	cmd.Flags().Float64Var(&o.RequestsPerSecond, "rate", 0, "requests per second without a key (default: unlimited)")
	return cmd
}

func newFragmentStandIn() *cobra.Command {
	var o tonsim.FragmentOptions
	cmd := standInCommand("fragment", "Stands in for Fragment, which sells Telegram Stars", "127.0.0.1:8085", &o.Dir, "users and purchases",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.TonCenterURL, "toncenter", "http://127.0.0.1:8084", "where it looks for payments")
	cmd.Flags().StringVar(&o.TonCenterKey, "toncenter-key", "", "the API key for that")
	cmd.Flags().StringVar(&o.Address, "address", "", "where payments go (default: the shop of the stand-in for toncenter)")
	cmd.Flags().StringVar(&o.Token, "token", "", "what the session's stel_token must be (default: anything)")
	cmd.Flags().Int64Var(&o.Settings.NanoPerStar, "nano-per-star", 0, "price of one Star in nanoTON (default: 9218000)")
	return cmd
}

func newOIDCStandIn() *cobra.Command {
	var o oidcsim.Options
	cmd := standInCommand("oidc", "Stands in for a provider of OpenID Connect", "127.0.0.1:8086", nil, "",
		func() (stack.StandIn, error) { return stack.NewStandIn(o) })
	cmd.Flags().StringVar(&o.ClientID, "client-id", "stand-in", "the client's id")
	cmd.Flags().StringVar(&o.ClientSecret, "client-secret", "stand-in", "and its secret")
	cmd.Flags().StringVar(&o.BrowserURL, "browser-url", "", "where browsers reach it (default: as the service does)")
	cmd.Flags().StringVar(&o.RedirectURI, "redirect-uri", "", "the address that browsers may be sent back to (default: any)")
	return cmd
}

// standInCommand makes the command of a stand-in; dir is nil for one without state.
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
