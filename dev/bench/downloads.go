package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/download"
)

const (
	downloadSteps = 60 // polls of one download on its way
	downloadPoll  = 100 * time.Millisecond
)

// measureDownloads reads what two downloads have left in Temporal, one of ten hours and one of a minute by the
// stand-in's clock. Then it measures the cost of watching many downloads.
func measureDownloads(ctx context.Context, m *machine) (rows []row, err error) {
	var long, short cost
	err = m.withTorrents(func(url string) error {
		return m.withRig(ctx, rigOptions{settings: map[string]string{
			"STAGECOACH_QBITTORRENT_URL": url, "STAGECOACH_QBITTORRENT_USERNAME": torrentUser, "STAGECOACH_QBITTORRENT_PASSWORD": torrentPassword,
			"STAGECOACH_DOWNLOAD_POLL_INTERVAL": downloadPoll.String(),
		}}, func(r *rig) (err error) {
			if short, err = r.downloadFor(ctx, url, time.Minute); err != nil {
				return err
			}
			long, err = r.downloadFor(ctx, url, 10*time.Hour)
			return err
		})
	})
	if err != nil {
		return nil, err
	}

	const name, against = "a download of 10 h", "one of a minute"
	rows = []row{
		measured(name, "events", long.events).against(against, short.events).atMost(40),
		measured(name, "actions", long.actions).against(against, short.actions),
	}

	for _, jobs := range []int{100, 1000, 10_000} {
		more, err := m.measureTicks(ctx, jobs)
		if err != nil {
			return rows, fmt.Errorf("%d downloads: %w", jobs, err)
		}
		rows = append(rows, more...)
	}

	return rows, nil
}

// withTorrents runs the stand-in for qBittorrent in a process of its own.
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

const (
	torrentUser     = "admin"
	torrentPassword = "bench-password"
)

// downloadFor runs a download that takes so long by the stand-in's clock, has it polled on the way, and counts what is
// left in Temporal.
func (r *rig) downloadFor(ctx context.Context, url string, takes time.Duration) (cost, error) {
	plan := torrentsim.TorrentPlan{Meta: time.Millisecond, Duration: takes, Size: 1 << 30}
	if err := send(ctx, http.MethodPut, url+"/_/plan", plan, nil); err != nil {
		return cost{}, err
	}

	user, err := r.user(ctx)
	if err != nil {
		return cost{}, err
	}

	downloads := &service.Downloads{Temporal: r.client, Store: r.store, Log: r.deliveries.Log}
	book, err := downloads.CreateBook(ctx, user, "Bench", "", "")
	if err != nil {
		return cost{}, err
	}

	job, _, err := downloads.Start(ctx, user, service.DownloadAsk{
		BookID: book.ID, MediaType: download.MediaAudio, SourceURL: fmt.Sprintf("magnet:?xt=urn:btih:%040x", r.serial.Add(1)),
	})
	if err != nil {
		return cost{}, err
	}
	if _, err = r.downloadReaches(ctx, job, 0); err != nil {
		return cost{}, err
	}

	for step := range downloadSteps {
		advance := map[string]int64{"advance_ms": (takes / (downloadSteps + 1)).Milliseconds()}
		if err := post(ctx, url+"/_/clock", advance); err != nil {
			return cost{}, err
		}
		if _, err := r.downloadReaches(ctx, job, float64(step+1)/(downloadSteps+1)*0.99); err != nil {
			return cost{}, err
		}
	}

	if err := post(ctx, url+"/_/clock", map[string]int64{"advance_ms": takes.Milliseconds()}); err != nil {
		return cost{}, err
	}
	if err := r.client.GetWorkflow(ctx, job.WorkflowID(), "").Get(ctx, nil); err != nil {
		return cost{}, fmt.Errorf("the download of %s was not completed: %w", takes, err)
	}

	return r.cost(ctx, job.WorkflowID())
}

// downloadReaches waits until a job has begun and the record has this progress of it.
func (r *rig) downloadReaches(ctx context.Context, job download.Download, progress float64) (download.Download, error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		job, err := r.store.DownloadByID(ctx, job.ID)
		if err != nil || job.State == lifecycle.DownloadDownloading && job.Progress >= progress {
			return job, err
		}
		if time.Now().After(deadline) {
			return job, fmt.Errorf("the download is %s with %.2f of it there, and not %.2f", job.State, job.Progress, progress)
		}
	}
}
