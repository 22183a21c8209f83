// Package devinfo is the file by which the command line finds a development stack running on this machine.
package devinfo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DefaultState is dev's default state folder.
const DefaultState = ".stagecoach"

// File contains the addresses and tokens of a running dev, in its state folder.
const File = "dev.json"

// Info is the content of dev.json, for the other commands and for tests.
type Info struct {
	API         string   `json:"api"`
	Docs        string   `json:"docs"`
	Temporal    string   `json:"temporal"` // host:port
	WebUI       string   `json:"web_ui"`
	Metrics     string   `json:"metrics"`
	DatabaseURL string   `json:"database_url"`
	AdminToken  string   `json:"admin_token"`
	UserToken   string   `json:"user_token"`
	StandIns    StandIns `json:"stand_ins"`
}

// StandIns are the URLs of the simulators of the external systems.
type StandIns struct {
	Telegram    string `json:"telegram"`
	Yandex      string `json:"yandex"`
	QBittorrent string `json:"qbittorrent"` // the real one if installed
	WebSeed     string `json:"web_seed"`    // of torrents to try
	TonCenter   string `json:"toncenter"`
	Fragment    string `json:"fragment"`
	OIDC        string `json:"oidc"`
	Torznab     string `json:"torznab"`
}

func Read(state string) (info Info, err error) {
	name := filepath.Join(state, File)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("there is no %s", name)
	}

	if err == nil {
		err = json.Unmarshal(data, &info)
	}

	if err != nil {
		return Info{}, fmt.Errorf("%s: %w", name, err)
	}
	return info, nil
}

// WritePrivate atomically writes a value as JSON to a file that only its owner may read.
func WritePrivate(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	fresh := name + ".new"
	if err := os.WriteFile(fresh, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, name)
}
