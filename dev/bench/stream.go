package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

const (
	streamSize = 1 << 30
	rounds     = 3 // of ours and the baseline, alternating; the median counts
	rigRounds  = 2 // the same, where each side needs its own rig
)

// measureStream compares a delivery with the shortest possible pipe between the same simulators: their speed, and with
// a storage that speaks TLS, as the real one does, their CPU time.
func measureStream(ctx context.Context, m *machine) (rows []row, err error) {
	if rows, err = measureSpeed(ctx, m); err != nil {
		return nil, err
	}
	cost, err := measureProcessorTime(ctx, m)
	return append(rows, cost...), err
}

func measureSpeed(ctx context.Context, m *machine) (rows []row, err error) {
	var ours, curl []float64
	options := rigOptions{telegram: telegramsim.Options{DiscardFiles: true}, yandex: yandexsim.Options{SkipHashes: true}}
	err = m.withRig(ctx, options, func(r *rig) error {
		user, file, sum, err := r.bigFile(ctx)
		if err != nil {
			return err
		}

		for range rounds {
			took, err := r.deliver(ctx, user, file)
			if err != nil {
				return err
			}

			ours = append(ours, speed(took))
			piped, err := r.pipe(ctx, *user.TelegramID, file)
			if err != nil {
				return err
			}

			curl = append(curl, speed(piped.took))
		}

		return r.checkChat(ctx, *user.TelegramID, 2*rounds, sum)
	})
	if err != nil {
		return nil, err
	}

	return []row{
		measured("stream 1 GiB, claim to delivered", "MB/s", ours...).against(curlPipe, curl...).atLeast(0.9),
	}, nil
}

func speed(took time.Duration) float64 { return streamSize / 1e6 / took.Seconds() }

// deliver returns how long a delivery took from its claim, by the times in the record.
func (r *rig) deliver(ctx context.Context, user account.User, file delivery.File) (time.Duration, error) {
	job, err := r.request(ctx, user, file)
	if err != nil {
		return 0, err
	}
	if err := r.await(ctx, job); err != nil {
		return 0, err
	}

	events, err := r.store.Notices.EventsOf(ctx, lifecycle.WorkloadDelivery, strconv.FormatInt(job.ID, 10))
	if err != nil {
		return 0, err
	}

	at := map[string]time.Time{}
	for _, event := range events {
		at[event.Type] = event.CreatedAt
	}
	return at["delivered"].Sub(at["claimed"]), nil
}

// curlPipe names what pipe does.
const curlPipe = "curl -s href | curl -s -F document=@/dev/stdin sendDocument"

// usage is what a baseline has used.
type usage struct{ took, processor time.Duration }

// pipe sends a file with just curl; trust are options of the download. It reads /dev/stdin: with "-" curl does not
// stream, but buffers everything in memory and refuses 1 GiB.
func (r *rig) pipe(ctx context.Context, chat int64, file delivery.File, trust ...string) (usage, error) {
	href, err := r.href(ctx, file)
	if err != nil {
		return usage{}, err
	}

	from := exec.CommandContext(ctx, "curl", append(trust, "-sf", href)...)
	to := exec.CommandContext(ctx, "curl", "-sf", "-F", "document=@/dev/stdin;filename="+file.Name,
		fmt.Sprintf("%s/bot%s/sendDocument?chat_id=%d", r.ground.StandIns.Telegram, botToken, chat))
	if to.Stdin, err = from.StdoutPipe(); err != nil {
		return usage{}, err
	}

	began := time.Now()
	if err := errors.Join(to.Start(), from.Start()); err != nil {
		return usage{}, err
	}

	sent, got := to.Wait(), from.Wait()
	return usage{time.Since(began), usedBy(from, to)}, errors.Join(sent, got)
}

// href requests a download link, as the worker does.
func (r *rig) href(ctx context.Context, file delivery.File) (string, error) {
	address := r.ground.StandIns.Yandex + "/v1/disk/resources/download?path=" + url.QueryEscape("disk:"+file.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "OAuth "+accessToken)
	var link struct{ Href string }
	err = answer(request, &link)
	return link.Href, err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// bigFile warms the rig up and puts a file of streamSize into the storage, for a user.
func (r *rig) bigFile(ctx context.Context) (user account.User, file delivery.File, sum string, err error) {
	if err := r.warmUp(ctx); err != nil {
		return user, file, "", err
	}
	if user, err = r.user(ctx); err != nil {
		return user, file, "", err
	}

	file, sum, err = r.randomFile(ctx, streamSize)
	return user, file, sum, err
}

// randomFile puts a file of random bytes into the storage and returns its entry and its sha256.
func (r *rig) randomFile(ctx context.Context, size int64) (delivery.File, string, error) {
	var seed [32]byte
	rand.Read(seed[:])
	return r.file(ctx, size, func(f *os.File, sum io.Writer) error {
		_, err := io.CopyBuffer(io.MultiWriter(f, sum), io.LimitReader(mathrand.NewChaCha8(seed), size), make([]byte, 1<<20))
		return err
	})
}

// sparseFile puts a sparse file of zeros into the storage.
func (r *rig) sparseFile(ctx context.Context, size int64) (delivery.File, string, error) {
	return r.file(ctx, size, func(f *os.File, sum io.Writer) error {
		if err := f.Truncate(size); err != nil {
			return err
		}
		_, err := io.Copy(sum, f)
		return err
	})
}

func (r *rig) file(ctx context.Context, size int64, fill func(*os.File, io.Writer) error) (delivery.File, string, error) {
	name := fmt.Sprintf("file-%d.bin", r.serial.Add(1))
	f, err := os.Create(filepath.Join(r.files, name))
	if err != nil {
		return delivery.File{}, "", err
	}
	defer func() { _ = f.Close() }()

	sum := sha256.New()
	if err := fill(f, sum); err != nil {
		return delivery.File{}, "", err
	}

	if size > 1<<20 { // so that no write-back runs during a measurement
		if err := f.Sync(); err != nil {
			return delivery.File{}, "", err
		}
	}

	saved, err := r.store.Deliveries.SaveFiles(
		ctx, []delivery.File{{Path: "/" + name, Parent: "/", Name: name, Size: size, ModifiedAt: time.Now()}},
	)
	if err != nil {
		return delivery.File{}, "", err
	}

	return saved[0], hex.EncodeToString(sum.Sum(nil)), nil
}

// checkChat returns an error unless the chat has received want documents, all with the sum.
func (r *rig) checkChat(ctx context.Context, chat int64, want int, sum string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/_/chats/%d", r.ground.StandIns.Telegram, chat), nil)
	if err != nil {
		return err
	}

	var seen telegramsim.Chat
	if err := answer(request, &seen); err != nil {
		return err
	}

	got := 0
	for _, message := range seen.Messages {
		if message.Document == nil {
			continue
		}
		if got++; message.Document.SHA256 != sum {
			return fmt.Errorf("a document arrived with the sha256 %s instead of %s", message.Document.SHA256, sum)
		}
	}

	if got != want {
		return fmt.Errorf("%d documents arrived instead of %d", got, want)
	}
	return nil
}
