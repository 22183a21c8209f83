package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
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

// measureMemory reads a worker's memory while it streams several large files at a time.
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

// tlsKind is the child that runs a stand-in behind TLS.
const tlsKind = "tls"

// tlsChild is a stand-in, and the certificate and its key that it shows.
type tlsChild struct {
	Kind        string
	Options     json.RawMessage
	Certificate []byte // PEM
	Key         []byte // PEM
}

// measureProcessorTime counts what the worker uses for a stream, and the programs of the pipe. The time of the stand-ins
// does not count.
func measureProcessorTime(ctx context.Context, m *machine) (rows []row, err error) {
	storage, authority, err := m.certificate()
	if err != nil {
		return nil, err
	}

	var ours, curl []float64
	err = m.withRig(ctx, rigOptions{
		telegram: telegramsim.Options{DiscardFiles: true}, yandex: yandexsim.Options{SkipHashes: true}, storageTLS: storage,
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

// certificate makes a certificate for this machine, which is its own authority, and returns it as a server needs it and
// as a file for those who have to trust it. This process trusts it too.
func (m *machine) certificate() (storage *tlsChild, authority string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "storage"},
		KeyUsage:  x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, "", err
	}

	storage = &tlsChild{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}

	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(storage.Certificate)
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}

	authority = filepath.Join(m.dir, "authority.pem")
	return storage, authority, os.WriteFile(authority, storage.Certificate, 0o644)
}

// startBehindTLS starts a stand-in behind TLS in a process of its own.
func (c tlsChild) startBehindTLS(kind string, options any) (url string, stop func() error, err error) {
	if c.Options, err = json.Marshal(options); err != nil {
		return "", nil, err
	}
	c.Kind = kind
	return startApart(tlsKind, c)
}

// serve serves the stand-in until ctx ends.
func (c tlsChild) serve(ctx context.Context, out io.Writer) error {
	standIn, err := stack.DecodeStandIn(c.Kind, c.Options)
	if err != nil {
		return err
	}
	defer func() { _ = standIn.Close() }()

	pair, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return err
	}

	server := &http.Server{Handler: standIn, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	fmt.Fprintln(out, "https://"+listener.Addr().String())
	<-ctx.Done()
	return server.Close()
}

// processorTime returns the time that the process has used so far, its own and the system's.
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

// usedBy returns the processor time of commands that have ended.
func usedBy(commands ...*exec.Cmd) (used time.Duration) {
	for _, command := range commands {
		used += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	return used
}
