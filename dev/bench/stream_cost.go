package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/dev/stack"
)

const (
	memoryStreams = 4
	memorySize    = 2_000_000_000
)

// measureMemory measures a worker's memory while it streams several large files at a time.
func measureMemory(ctx context.Context, m *machine) (rows []row, err error) {
	const mb = 1e6
	options := rigOptions{telegram: telegramsim.Options{DiscardFiles: true}, yandex: yandexsim.Options{SkipHashes: true}}
	err = m.withRig(ctx, options, func(r *rig) error {
		file, sum, err := r.sparseFile(ctx, memorySize)
		if err != nil {
			return err
		}
		if err := r.warmUp(ctx); err != nil { // a worker that has never worked uses less
			return err
		}

		idle, err := r.worker.memory("VmRSS")
		if err != nil {
			return err
		}

		var streams errgroup.Group
		for range memoryStreams {
			streams.Go(func() error {
				user, err := r.user(ctx)
				if err != nil {
					return err
				}
				if _, err := r.deliver(ctx, user, file); err != nil {
					return err
				}
				return r.checkChat(ctx, *user.TelegramID, 1, sum)
			})
		}

		if err := streams.Wait(); err != nil {
			return err
		}

		most, err := r.worker.memory("VmHWM")
		rows = []row{
			measured("worker memory, 4 × 2 GB at a time, VmHWM", "MB", most/mb).
				against("the same worker idle", idle/mb).atMost(64),
		}

		return err
	})

	return rows, err
}

// measureProcessorTime compares the CPU time of the worker for a stream with that of the pipe's programs. The
// simulators do not count.
func measureProcessorTime(ctx context.Context, m *machine) (rows []row, err error) {
	authority, err := m.trustTLS()
	if err != nil {
		return nil, err
	}

	var ours, curl []float64
	err = m.withRig(ctx, rigOptions{
		telegram: telegramsim.Options{DiscardFiles: true}, yandex: yandexsim.Options{SkipHashes: true}, storageTLS: true,
		settings: map[string]string{"SSL_CERT_FILE": authority},
	}, func(r *rig) error {
		user, file, sum, err := r.bigFile(ctx)
		if err != nil {
			return err
		}

		for range rounds {
			before, err := r.worker.processorTime()
			if err != nil {
				return err
			}
			if _, err := r.deliver(ctx, user, file); err != nil {
				return err
			}
			after, err := r.worker.processorTime()
			if err != nil {
				return err
			}
			ours = append(ours, (after - before).Seconds())

			piped, err := r.pipe(ctx, *user.TelegramID, file, "--cacert", authority)
			if err != nil {
				return err
			}
			curl = append(curl, piped.processor.Seconds())
		}

		return r.checkChat(ctx, *user.TelegramID, 2*rounds, sum)
	})
	if err != nil {
		return nil, err
	}

	return []row{
		measured("stream 1 GiB, TLS at the storage, processor time", "s", ours...).against(curlPipe, curl...).atMostTimes(1.2),
	}, nil
}

// behindTLS prefixes the kind of a child that is a simulator behind TLS.
const behindTLS = "tls-"

// startBehindTLS starts a simulator behind TLS in its own process.
func startBehindTLS(kind string, options any) (url string, stop func() error, err error) {
	return startApart(behindTLS+kind, options)
}

// serveTLS serves a simulator behind TLS until ctx is done, with the certificate that Go's test servers share.
func serveTLS(ctx context.Context, standIn stack.StandIn, out io.Writer) error {
	server := httptest.NewTLSServer(standIn)
	defer server.Close()

	fmt.Fprintln(out, server.URL)
	<-ctx.Done()
	server.CloseClientConnections()
	return standIn.Close()
}

// trustTLS makes this process trust the certificate of serveTLS, and returns it as a file for others.
func (m *machine) trustTLS() (authority string, err error) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()

	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}

	authority = filepath.Join(m.dir, "authority.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return authority, os.WriteFile(authority, text, 0o644)
}

// processorTime returns the CPU time that the process has used so far, user and system.
func (p *process) processorTime() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	if err != nil {
		return 0, err
	}

	const tick = 10 * time.Millisecond            // USER_HZ, which Linux has fixed at 100 a second
	_, rest, _ := strings.Cut(string(stat), ") ") // after the program's name in brackets, which may have spaces
	used := strings.Fields(rest)[11:13]           // fields 14 and 15 of all
	user, err := strconv.ParseInt(used[0], 10, 64)
	system, err2 := strconv.ParseInt(used[1], 10, 64)
	return time.Duration(user+system) * tick, errors.Join(err, err2)
}

// usedBy returns the CPU time of commands that have ended.
func usedBy(commands ...*exec.Cmd) (used time.Duration) {
	for _, command := range commands {
		used += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	return used
}
