package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	qbt "github.com/autobrr/go-qbittorrent"
	"github.com/jackc/pgx/v5"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/activities/download"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/stack"
	"stagecoach/internal/metrics"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/account"
	downloadstore "stagecoach/internal/store/download"
)

const (
	torrentUser     = "admin"
	torrentPassword = "bench-password"

	tickJobs     = 10_000
	tickWarmUp   = 1
	ticks        = 4 // measured ones, of ours and of the baseline
	tickCategory = "bench"
	tickChunk    = 1000 // torrents per request that creates them
	tickPause    = 50 * time.Millisecond
	tickName     = "one request, and a row at a time"
)

// measureDownloads polls a simulator with many active downloads, which all make progress, and writes the result: once
// with the watcher, once in the simplest way.
func measureDownloads(ctx context.Context, m *machine) (rows []row, err error) {
	conn, err := pgx.Connect(ctx, m.postgres.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	defer func() { // otherwise the next rig's reconciler would start them
		_, forgetErr := conn.Exec(ctx, `DELETE FROM download_jobs WHERE source = 'bench'`)
		err = errors.Join(err, forgetErr)
	}()

	err = m.withTorrents(func(url string) error {
		if err := m.fillTorrents(ctx, conn, url); err != nil {
			return err
		}

		plain := &plainTicks{url: url, conn: conn}
		var atFirst float64 // at its start a watcher also reads leftover torrents
		polls, err := m.watch(url, func() (err error) {
			if len(plain.whole) == 0 {
				atFirst, err = torrentRequests(ctx, url)
			}
			return errors.Join(err, plain.tick(ctx))
		})
		if err != nil {
			return err
		}

		asked, err := torrentRequests(ctx, url)
		if err != nil {
			return err
		}

		var ours []float64
		for _, poll := range polls[tickWarmUp:] {
			ours = append(ours, milliseconds(poll.Took))
		}

		// after the first one; the watcher may have begun another poll before it saw that it should stop
		each := (asked - atFirst - 1) / float64(len(polls)-1)
		name := fmt.Sprintf("a poll of %d moving downloads", tickJobs)
		rows = []row{
			measured(name, "ms", ours...).against(tickName, plain.whole[tickWarmUp:]...).atMostTimes(0.5),
			measured(name+", asked", "requests", each-1).atMost(1), // the baseline asks once
		}

		return nil
	})

	return rows, err
}

// withTorrents runs a simulated qBittorrent in its own process.
func (m *machine) withTorrents(fn func(url string) error) error {
	ground := stack.Ground{Apart: startApart}
	err := ground.StartQBittorrentStandIn(torrentsim.QBittorrentOptions{
		Username: torrentUser, Password: torrentPassword,
	})
	if err != nil {
		return err
	}
	return errors.Join(fn(ground.StandIns.QBittorrent), ground.Close())
}

// fillTorrents creates active jobs without workflows, so that the watcher signals none.
func (m *machine) fillTorrents(ctx context.Context, conn *pgx.Conn, url string) error {
	user, err := m.store.Accounts.CreateUser(ctx, account.User{Name: "Bench", Status: account.UserActive}, account.NewToken())
	if err != nil {
		return err
	}

	rows, err := conn.Query(ctx, `INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url, added_at)
		SELECT $1, n, 'text', 'downloading', 'bench', 'magnet:', now() FROM generate_series(1, $2::int) AS n RETURNING id`,
		user.ID, tickJobs)
	if err != nil {
		return err
	}

	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}

	for chunk := range slices.Chunk(ids, tickChunk) {
		torrents := make([]torrentsim.Torrent, 0, len(chunk))
		for _, id := range chunk {
			torrents = append(torrents, torrentsim.Torrent{
				Name: fmt.Sprintf("torrent %d", id), InfohashV1: fmt.Sprintf("%040x", id), Size: 1 << 30, Category: tickCategory,
				Tags: []string{downloadstore.Download{ID: id}.Tag()}, Plan: torrentsim.TorrentPlan{Duration: 10 * time.Hour},
			})
		}
		if err := post(ctx, url+"/_/torrents", map[string]any{"items": torrents}); err != nil {
			return err
		}
	}

	return nil
}

// watch runs the watcher for some polls and calls then after each.
func (m *machine) watch(url string, then func() error) (polls []download.Poll, err error) {
	stop := make(chan struct{})
	quiet := slog.New(slog.DiscardHandler)
	watcher := &download.Sync{
		Store: m.store.Downloads, Alerts: m.store.Notices, Metrics: metrics.New().Download(), Log: quiet,
		Torrents: qbittorrent.New(qbittorrent.Options{
			URL: url, Username: torrentUser, Password: torrentPassword, ActiveCategory: tickCategory,
			DoneCategory: tickCategory + "-done",
		}),
		Settings: download.SyncSettings{Every: tickPause, PollGap: time.Minute},
	}

	var thenErr error
	watcher.OnPoll = func(poll download.Poll) {
		thenErr = errors.Join(thenErr, then())
		if polls = append(polls, poll); len(polls) == tickWarmUp+ticks {
			close(stop)
		}
	}

	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(quiet))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerStopChannel(stop)
	env.RegisterActivity(watcher)
	if _, err := env.ExecuteActivity(watcher.SyncDownloads); err != nil || thenErr != nil {
		return nil, errors.Join(err, thenErr)
	}

	for _, poll := range polls {
		whole := poll.Jobs == tickJobs && poll.Torrents == tickJobs && poll.Written == tickJobs
		if poll.Err != nil || !whole || poll.Notified != 0 {
			return nil, fmt.Errorf("a poll went wrong: %+v", poll)
		}
	}
	return polls, nil
}

// plainTicks are the baseline, in milliseconds.
type plainTicks struct {
	url   string
	web   *qbt.Client
	conn  *pgx.Conn
	whole []float64
}

// tick requests all torrents and writes one row after the other.
func (p *plainTicks) tick(ctx context.Context) error {
	if p.web == nil {
		p.web = qbt.NewClient(qbt.Config{Host: p.url, Username: torrentUser, Password: torrentPassword, RetryAttempts: 1})
	}

	began := time.Now()
	torrents, err := p.web.GetTorrentsCtx(ctx, qbt.TorrentFilterOptions{Category: tickCategory})
	if err != nil || len(torrents) != tickJobs {
		return fmt.Errorf("%d torrents instead of %d: %w", len(torrents), tickJobs, err)
	}

	for _, t := range torrents {
		id, err := strconv.ParseInt(strings.TrimPrefix(t.Tags, downloadstore.DownloadTagPrefix), 10, 64)
		if err != nil {
			return err
		}
		if _, err := p.conn.Exec(ctx, `UPDATE download_jobs SET progress = $2, speed = $3, eta_seconds = $4, updated_at_utc = now()
			WHERE id = $1`, id, t.Progress, t.DlSpeed, t.ETA); err != nil {
			return err
		}
	}

	p.whole = append(p.whole, milliseconds(time.Since(began)))
	return nil
}

// torrentRequests counts the requests to a simulator, without logins.
func torrentRequests(ctx context.Context, url string) (count float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/_/requests", nil)
	if err != nil {
		return 0, err
	}

	var log struct {
		Items []sim.Request `json:"items"`
	}
	if err := answer(request, &log); err != nil {
		return 0, err
	}

	for _, r := range log.Items {
		if !strings.HasSuffix(r.Path, "/login") {
			count++
		}
	}
	return count, nil
}
