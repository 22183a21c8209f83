package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"time"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/internal/store"
)

const (
	streamSize = 1 << 30
	rounds     = 3 // of ours and the baseline by turns; the median counts
)

// measureStream compares a delivery with the shortest pipe there is between the same stand-ins.
func measureStream(ctx context.Context, m *machine) (rows []row, err error) {
	var claimed, whole, curl []float64
	options := rigOptions{telegram: telegramsim.Options{DiscardFiles: true}, yandex: yandexsim.Options{SkipHashes: true}}
	err = m.withRig(ctx, options, func(r *rig) error {
		if err := r.warmUp(ctx); err != nil {
			return err
		}
		user, err := r.user(ctx)
		if err != nil {
			return err
		}
		file, sum, err := r.randomFile(ctx, streamSize)
		if err != nil {
			return err
		}
		for range rounds {
			took, err := r.deliver(ctx, user, file)
			if err != nil {
				return err
			}
			claimed = append(claimed, speed(took.fromClaim))
			whole = append(whole, speed(took.fromRequest))
			piped, err := r.pipe(ctx, *user.TelegramID, file)
			if err != nil {
				return err
			}
			curl = append(curl, speed(piped))
		}
		return r.checkChat(ctx, *user.TelegramID, 2*rounds, sum)
	})
	if err != nil {
		return nil, err
	}
	const pipe = "curl -s href | curl -s -F document=@/dev/stdin sendDocument"
	return []row{
		measured("stream 1 GiB, claim to delivered", "MB/s", claimed...).against(pipe, curl...).atLeast(0.9),
		measured("stream 1 GiB, request to delivered", "MB/s", whole...).against(pipe, curl...),
	}, nil
}

func speed(took time.Duration) float64 { return streamSize / 1e6 / took.Seconds() }

// timing is how long a delivery took, by the record's own times.
type timing struct{ fromRequest, fromClaim time.Duration }

func (r *rig) deliver(ctx context.Context, user store.User, file store.File) (timing, error) {
	began := time.Now()
	job, err := r.request(ctx, user, file)
	if err != nil {
		return timing{}, err
	}
	if err := r.await(ctx, job); err != nil {
		return timing{}, err
	}
	events, err := r.store.EventsOf(ctx, store.DeliveryBoards, strconv.FormatInt(job.ID, 10))
	if err != nil {
		return timing{}, err
	}
	at := map[string]time.Time{}
	for _, event := range events {
		at[event.Type] = event.CreatedAt
	}
	return timing{at["delivered"].Sub(began), at["delivered"].Sub(at["claimed"])}, nil
}

// pipe sends a file with curl alone. It reads /dev/stdin, for of "-" curl makes no stream: it keeps all of it in memory,
// and refuses 1 GiB.
func (r *rig) pipe(ctx context.Context, chat int64, file store.File) (time.Duration, error) {
	href, err := r.href(ctx, file)
	if err != nil {
		return 0, err
	}
	from := exec.CommandContext(ctx, "curl", "-sf", href)
	to := exec.CommandContext(ctx, "curl", "-sf", "-F", "document=@/dev/stdin;filename="+file.Name,
		fmt.Sprintf("%s/bot%s/sendDocument?chat_id=%d", r.telegramURL, botToken, chat))
	if to.Stdin, err = from.StdoutPipe(); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := errors.Join(to.Start(), from.Start()); err != nil {
		return 0, err
	}
	sent, got := to.Wait(), from.Wait()
	return time.Since(began), errors.Join(sent, got)
}

// href asks for a download link, as the worker does.
func (r *rig) href(ctx context.Context, file store.File) (string, error) {
	address := r.yandexURL + "/v1/disk/resources/download?path=" + url.QueryEscape("disk:"+file.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "OAuth "+accessToken)
	var link struct{ Href string }
	err = answer(request, &link)
	return link.Href, err
}
