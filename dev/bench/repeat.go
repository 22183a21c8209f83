package main

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/store"
)

const repeatSize = 64 << 20

// measureRepeat delivers contents twice: the second time Telegram has them already.
func measureRepeat(ctx context.Context, m *machine) (rows []row, err error) {
	var first, again [2][]float64 // from the claim, from the request
	err = m.withRig(ctx, rigOptions{telegram: telegramsim.Options{DiscardFiles: true}}, func(r *rig) error {
		if err := r.warmUp(ctx); err != nil {
			return err
		}
		for range rounds {
			user, err := r.user(ctx)
			if err != nil {
				return err
			}
			file, sum, err := r.randomFile(ctx, repeatSize)
			if err != nil {
				return err
			}
			if err := r.hash(ctx, file); err != nil {
				return err
			}
			for _, into := range []*[2][]float64{&first, &again} {
				took, err := r.deliver(ctx, user, file)
				if err != nil {
					return err
				}
				into[0] = append(into[0], milliseconds(took.fromClaim))
				into[1] = append(into[1], milliseconds(took.fromRequest))
			}
			if err := r.checkChat(ctx, *user.TelegramID, 2, sum); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	const once = "its first delivery"
	return []row{
		measured("repeat 64 MiB by file_id, claim to delivered", "ms", again[0]...).against(once, first[0]...),
		measured("repeat 64 MiB by file_id, request to delivered", "ms", again[1]...).against(once, first[1]...),
	}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// hash makes the storage compute a file's hashes, which the real one has long done.
func (r *rig) hash(ctx context.Context, file store.File) error {
	address := r.yandexURL + "/v1/disk/resources?path=" + url.QueryEscape("disk:"+file.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "OAuth "+accessToken)
	return answer(request, nil)
}
