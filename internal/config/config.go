// Package config reads the program's settings, defaults and then the environment, in one place.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/textfile"
)

// Config holds every setting of the program. Durations and sizes have the units of their types; sizes are bytes.
type Config struct {
	DatabaseURL    string
	EncryptionKeys [][]byte // the first one encrypts, any of them decrypts
	Payloads       Payloads
	AdminToken     string
	LogLevel       slog.Level
	TracesURL      string // an OTLP receiver over HTTP; empty: none

	PlaintextHosts []string // reachable without TLS

	Connections int // to PostgreSQL; 0: the process's default

	API          API
	Limits       Limits
	Worker       Worker
	Telegram     Telegram
	Yandex       Yandex
	Delivery     Delivery
	QBittorrent  QBittorrent
	Download     Download
	Torznab      Torznab
	TON          TON
	Fragment     Fragment
	Transactions Transactions
	Retention    map[string]int // days by the names of store.Parts; 0: forever
	Media        Media
	Library      Library
	Webhooks     Webhooks
}

// Settings lists every variable, for the documentation.
func Settings() []Setting { return new(Config).settings() }

func (c *Config) settings() []Setting {
	return slices.Concat(
		c.generalSettings(), c.oidcSettings(), c.deliverySettings(), c.taskSettings(), c.downloadSettings(), c.librarySettings(), c.transactionSettings(),
		c.webhookSettings(), c.retentionSettings(),
	)
}

// Payloads configures the encryption of the payloads stored by Temporal. Without keys they are not encrypted.
type Payloads struct {
	Keys    []PayloadKey // the first one encrypts, any of them decrypts
	Encrypt bool
}

// PayloadKey is a named secret of 32 bytes.
type PayloadKey struct {
	ID     string
	Secret []byte
}

// API configures the HTTP API and the bot.
type API struct {
	Addr           string
	MetricsAddr    string  // empty: none
	AdminIDs       []int64 // Telegram ids
	ActivateAtOnce bool
	Bot            bool
	PublicURL      string // of the pages, without a path; empty: Addr
	WebUIOrigin    string // of Temporal's Web UI; empty: none
	TrustedProxies []netip.Prefix
	OIDC           OIDC
}

// BrowserURL is the pages' address in browsers.
func (a API) BrowserURL() string { return cmp.Or(a.PublicURL, "http://"+a.Addr) }

// Limits bound what one user, administrators excepted, may do over HTTP and in the bot together; 0: no limit.
type Limits struct {
	Requests int // per second

	Quotas map[string]int // what one user may have at a time, by the names of store.Parts
}

// Worker configures a worker process.
type Worker struct {
	MetricsAddr string
	StopTimeout time.Duration
	Version     WorkerVersion // zero: unversioned
	Queues      []string      // to serve; empty: all
}

// Serves reports whether a worker serves a task queue.
func (w Worker) Serves(queue string) bool {
	return len(w.Queues) == 0 || slices.Contains(w.Queues, queue)
}

// PaysOnly reports whether a worker serves only the payment queues.
func (w Worker) PaysOnly() bool {
	return len(w.Queues) > 0 && !slices.ContainsFunc(w.Queues, func(queue string) bool {
		return !slices.Contains(lifecycle.PaymentQueues, queue)
	})
}

// WorkerVersion names what a worker runs, for Temporal's worker deployments.
type WorkerVersion struct{ Deployment, Build string }

// Telegram identifies the bot and its server.
type Telegram struct {
	Token             string
	APIURL            string
	RequestsPerSecond float64 // over all chats
	CacheChat         int64
	SharedDir         string
}

// Yandex identifies the shared folder and its credentials.
type Yandex struct {
	APIURL, TokenURL          string
	ClientID, ClientSecret    string
	AccessToken, RefreshToken string
	Root                      string
	ListingTTL                time.Duration
}

// Program is one of the programs that read settings.
type Program string

// The programs by their names.
const (
	ForAPI      Program = "api"
	ForWorker   Program = "worker"
	ForPayments Program = "payments" // a worker that serves only the payment queues
	ForServe    Program = "serve"    // API, bot and worker in one process, without payments
)

// Which programs read secrets that not all of them need. An attacker who takes over the paying process cannot reach
// people, and one who takes over a process reachable by strangers cannot reach money.
var (
	withoutWallet = []Program{ForAPI, ForWorker, ForServe}
	withWallet    = []Program{ForWorker, ForPayments}
	withTorrents  = []Program{ForWorker, ForServe}
	toPeople      = []Program{ForAPI, ForServe}
)

// ReadBy reports whether a program reads the setting; empty: all programs together.
func (s Setting) ReadBy(program Program) bool {
	return program == "" || len(s.Only) == 0 || slices.Contains(s.Only, program)
}

// Load reads the settings of all programs. It reports every wrong value, with its variable's name and what is allowed.
func Load(lookup func(string) (string, bool)) (Config, error) { return LoadFor("", lookup) }

// LoadFor reads the environment through lookup (os.LookupEnv), without the settings that only other programs need: no
// process holds secrets that it does not use. A worker that serves only the payment queues is ForPayments.
func LoadFor(program Program, lookup func(string) (string, bool)) (Config, error) {
	var c Config
	var problems []error
	if program == ForWorker {
		value, _ := lookup(workerQueues) // a wrong one is reported later
		if (Worker{Queues: strings.FieldsFunc(value, isSeparator)}).PaysOnly() {
			program = ForPayments
		}
	}
	settings := slices.DeleteFunc(c.settings(), func(s Setting) bool { return !s.ReadBy(program) })

	demo := isDemo(program, lookup)
	for _, setting := range settings {
		if err := setting.load(lookup, demo); err != nil {
			problems = append(problems, err)
		}
	}

	for _, setting := range settings {
		var carriers []string // the URLs to which secrets are sent
		if setting.carries != nil {
			carriers = setting.carries()
		}
		if setting.guarded != nil {
			carriers = append(carriers, *setting.guarded)
		}
		if slices.ContainsFunc(carriers, func(address string) bool { return !c.mayCarrySecrets(address) }) {
			problems = append(problems, fmt.Errorf(
				"%s: must be an https URL, unless its host is this machine or is named in STAGECOACH_PLAINTEXT_HOSTS",
				setting.Name,
			))
		}
	}

	for _, err := range []error{c.Transactions.checkReviews(), c.API.OIDC.check(), c.Torznab.check()} {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if (c.Worker.Version.Deployment == "") != (c.Worker.Version.Build == "") {
		problems = append(problems, errors.New("TEMPORAL_DEPLOYMENT_NAME, TEMPORAL_WORKER_BUILD_ID: set both or none"))
	}
	return c, errors.Join(problems...)
}

// load reads one setting; demo: this is the demonstration.
func (s Setting) load(lookup func(string) (string, bool), demo bool) error {
	value, err := read(lookup, s)
	if err != nil {
		return err
	}

	if s.file != nil {
		*s.file, _ = lookup(s.Name + "_FILE")
	}

	value = cmp.Or(value, s.Default)
	if err := checkSample(value, demo); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if err := s.set(value); err != nil {
		shown := fmt.Sprintf("%q: ", value)
		if s.Secret || s.carries != nil { // a person may have put a key into the address
			shown = ""
		}
		return fmt.Errorf("%s: %s%w", s.Name, shown, err)
	}

	return nil
}

// mayCarrySecrets reports whether a key may be sent to an address: the connection is encrypted or local, or the
// operator trusts the host.
func (c Config) mayCarrySecrets(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" { // an empty one is not used, and an invalid one was reported before
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(c.PlaintextHosts, u.Hostname())
}

// read returns a setting's value, from its file if the variable is empty. Compose passes a variable without a value as
// an empty one, so empty means unset.
func read(lookup func(string) (string, bool), setting Setting) (string, error) {
	value, _ := lookup(setting.Name)
	file, _ := lookup(setting.Name + "_FILE")
	if value != "" || file == "" || !setting.Secret || setting.file != nil {
		return value, nil
	}

	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: the file cannot be read", setting.Name)
	}

	text, err := textfile.Decode(content)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: the file %w", setting.Name, err)
	}
	return strings.TrimSpace(string(text)), nil
}
