package stack

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stagecoach/internal/devinfo"
	"stagecoach/internal/store/account"
)

// kept is what dev generates once and keeps, so that a restart can read its data and has the same addresses.
type kept struct {
	EncryptionKey string    `json:"encryption_key"` // 32 bytes in base64
	AdminToken    string    `json:"admin_token"`
	UserToken     string    `json:"user_token"`
	TelegramToken string    `json:"telegram_token"`
	ClientID      string    `json:"client_id"`
	ClientSecret  string    `json:"client_secret"`
	RefreshToken  string    `json:"refresh_token"` // the first one: the current one is in the database
	TonKey        string    `json:"ton_key"`       // the seed of the wallet on the chain of dev, in hex
	Ports         portsKept `json:"ports"`
}

// portsKept are the ports of the last run; a busy one is replaced.
type portsKept struct {
	API         int `json:"api"`
	API2        int `json:"api_2"`
	Metrics     int `json:"metrics"`
	Temporal    int `json:"temporal"`
	WebUI       int `json:"web_ui"`
	Postgres    int `json:"postgres"`
	Telegram    int `json:"telegram"`
	Yandex      int `json:"yandex"`
	QBittorrent int `json:"qbittorrent"`
	TonCenter   int `json:"toncenter"`
	Fragment    int `json:"fragment"`
	OIDC        int `json:"oidc"`
	WebSeed     int `json:"web_seed"`
	Torznab     int `json:"torznab"`
}

// of returns the port of a simulator.
func (p *portsKept) of(kind string) *int {
	return map[string]*int{
		kindTelegram: &p.Telegram, kindYandex: &p.Yandex, kindQBittorrent: &p.QBittorrent, kindWebSeed: &p.WebSeed,
		kindTonCenter: &p.TonCenter, kindFragment: &p.Fragment, kindOIDC: &p.OIDC, kindTorznab: &p.Torznab,
	}[kind]
}

func keptFile(state string) string { return filepath.Join(state, "keep.json") }

// loadKept reads the kept values from the state folder and generates the missing ones.
func loadKept(state string) (kept, error) {
	k := newKept()
	name := keptFile(state)

	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &k)
	}

	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return k, fmt.Errorf("%s cannot be read: restore it, or remove the whole folder to begin anew: %w", name, err)
	}
	return k, k.save(state)
}

func (k kept) save(state string) error { return devinfo.WritePrivate(keptFile(state), k) }

func newKept() kept {
	key := make([]byte, 32)
	rand.Read(key)

	return kept{
		EncryptionKey: base64.StdEncoding.EncodeToString(key),
		AdminToken:    account.NewToken(),
		UserToken:     account.NewToken(),
		TelegramToken: "1000000:" + (rand.Text() + rand.Text())[:35], // the format of a real one
		ClientID:      "stagecoach-dev",
		ClientSecret:  rand.Text(),
		RefreshToken:  rand.Text(),
		TonKey:        newTonKey(),
		// The usual ports, so that tools find their server without configuration.
		Ports: portsKept{
			API: 8080, API2: 8088, Metrics: 9092, Temporal: 7233, WebUI: 8233, Postgres: 15432, Telegram: 8081, Yandex: 8082,
			QBittorrent: 8083, WebSeed: 8084, TonCenter: 8085, Fragment: 8086, OIDC: 8087, Torznab: 8089,
		},
	}
}

// key returns the encryption key.
func (k kept) key() ([]byte, error) { return base64.StdEncoding.DecodeString(k.EncryptionKey) }
