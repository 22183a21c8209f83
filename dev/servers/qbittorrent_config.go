package servers

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// configure writes our settings to the server's own file and keeps the others in it.
func (q *QBittorrent) configure() error {
	path := filepath.Join(q.options.Dir, "qBittorrent", "config", "qBittorrent.conf")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	settings, err := q.settings()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}

	return os.WriteFile(path, []byte(setINI(string(old), settings)), 0o600)
}

// setting is one line of an INI file.
type setting struct{ section, key, value string }

func (q *QBittorrent) settings() ([]setting, error) {
	hash, err := passwordHash(q.Password)
	if err != nil {
		return nil, err
	}

	name, err := loopbackInterface()
	if err != nil {
		return nil, err
	}
	return []setting{
		{"LegalNotice", "Accepted", "true"},
		{"Preferences", `WebUI\Address`, "127.0.0.1"},
		{"Preferences", `WebUI\Port`, strconv.Itoa(q.port)},
		{"Preferences", `WebUI\UseUPnP`, "false"},
		{"Preferences", `WebUI\Username`, q.Username},
		{"Preferences", `WebUI\Password_PBKDF2`, `"@ByteArray(` + hash + `)"`},
		{"Preferences", `WebUI\LocalHostAuth`, "true"}, // other users of this machine must not have access
		{"Preferences", `WebUI\BanDuration`, "20"},     // seconds
		// The server sends nothing outside this machine.
		{"Preferences", `Connection\ResolvePeerCountries`, "false"}, // would fetch a database
		{"Network", "PortForwardingEnabled", "false"},
		{"BitTorrent", `Session\Interface`, name},
		{"BitTorrent", `Session\InterfaceName`, name},
		{"BitTorrent", `Session\InterfaceAddress`, "127.0.0.1"},
		{"BitTorrent", `Session\DHTEnabled`, "false"},
		{"BitTorrent", `Session\LSDEnabled`, "false"},
		{"BitTorrent", `Session\PeXEnabled`, "false"},
		{"BitTorrent", `Session\Port`, strconv.Itoa(q.peerPort)},
		{"BitTorrent", `Session\DefaultSavePath`, filepath.ToSlash(q.Downloads)},
		{"BitTorrent", `Session\QueueingSystemEnabled`, "false"}, // a stalled torrent must not keep others waiting
		{"BitTorrent", `Session\RefreshInterval`, "500"},         // milliseconds until a change shows
	}, nil
}

// passwordHash is the format in which the server stores a password.
func passwordHash(password string) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	key, err := pbkdf2.Key(sha512.New, password, salt, 100_000, 64)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(salt) + ":" + base64.StdEncoding.EncodeToString(key), nil
}

// loopbackInterface returns the name of the loopback network interface.
func loopbackInterface() (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Name, nil
		}
	}
	return "", fmt.Errorf("none of %d network interfaces is the loopback", len(all))
}

// setINI returns the text with the settings in it; they replace older values of the same keys.
func setINI(text string, settings []setting) string {
	for _, s := range settings {
		line := s.key + "=" + s.value
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		at, section := -1, ""
		for i, l := range lines {
			if strings.HasPrefix(l, "[") {
				section = strings.Trim(l, "[]")
				if section == s.section {
					at = i
				}
			}
			if section == s.section && strings.HasPrefix(l, s.key+"=") {
				lines[i], at = line, -2
				break
			}
		}

		switch at {
		case -2: // replaced
		case -1:
			lines = append(lines, "["+s.section+"]", line)
		default:
			lines = append(lines[:at+1], append([]string{line}, lines[at+1:]...)...)
		}

		text = strings.TrimLeft(strings.Join(lines, "\n"), "\n") + "\n"
	}

	return text
}
