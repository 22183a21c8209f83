package ton

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/xssnick/tonutils-go/ton/wallet"

	"stagecoach/internal/textfile"
)

// Key is a wallet's private key. Printing or logging never shows it. The methods below hide a key on its own. As a
// field of another value it is hidden because package fmt follows pointers, but does not call functions.
type Key struct{ private func() ed25519.PrivateKey }

func newKey(private ed25519.PrivateKey) Key {
	return Key{func() ed25519.PrivateKey { return private }}
}

const hidden = "[TON key]"

// String hides the key.
func (Key) String() string { return hidden }

// Format hides the key from every verb of package fmt.
func (Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, hidden) }

// LogValue hides the key from structured logs.
func (Key) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the key from JSON and its like.
func (Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// The errors below contain nothing of the input: it may be a mistyped key.
var (
	errKey     = errors.New("the key must be 24 words, or a seed of 32 bytes or a private key of 64 bytes in hex")
	errWords   = errors.New("the 24 words are not a TON key: a word is wrong, or their order")
	errHalves  = errors.New("the private key's second half is not the public key of its first")
	errKeyFile = errors.New("the key file must be a plain file that only its owner may read: chmod 600")
)

// ParseKey reads 24 words, a 32-byte seed in hex, or a 64-byte private key in hex.
func ParseKey(text string) (Key, error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 24 {
		private, err := wallet.SeedToPrivateKeyWithOptions(words)
		if err != nil {
			return Key{}, errWords
		}
		return newKey(private), nil
	}
	if len(words) != 1 {
		return Key{}, errKey
	}

	data, err := hex.DecodeString(words[0])
	switch {
	case err == nil && len(data) == ed25519.SeedSize:
		return newKey(ed25519.NewKeyFromSeed(data)), nil
	case err == nil && len(data) == ed25519.PrivateKeySize:
		private := ed25519.NewKeyFromSeed(data[:ed25519.SeedSize])
		if !private.Equal(ed25519.PrivateKey(data)) {
			return Key{}, errHalves
		}
		return newKey(private), nil
	}

	return Key{}, errKey
}

// ReadKey reads what ParseKey accepts from a file that only its owner may open.
func ReadKey(path string) (Key, error) {
	file, err := os.Open(path)
	if err != nil {
		return Key{}, errors.New("the key file cannot be opened")
	}
	defer file.Close()

	info, err := file.Stat() // of the open file: the path may meanwhile name another one
	if err != nil || !isPrivate(path, info.Mode()) {
		return Key{}, errKeyFile
	}

	data, err := io.ReadAll(io.LimitReader(file, 4<<10))
	if err != nil {
		return Key{}, errors.New("the key file cannot be read")
	}

	text, err := textfile.Decode(data)
	if err != nil {
		return Key{}, fmt.Errorf("the key file %w", err)
	}
	return ParseKey(string(text))
}

const (
	// containerSecrets is where container engines put a container's secrets, readable by all of its accounts: Docker
	// Compose cannot give them an owner (moby looks up the account's name on the machine instead of in the image). A
	// container has the processes of one service; outside of one, only root can make this folder and decides who may enter
	// it.
	containerSecrets = "/run/secrets/"

	// unitSecrets is where systemd puts a unit's credentials, in a folder that only its account may enter. The files may
	// be root's, with an ACL for the account, which shows up as a group permission.
	unitSecrets = "/run/credentials/"
)

// isPrivate reports whether a file is a plain one readable only by its owner, or one of this container or unit alone
// that only its owner may write.
func isPrivate(path string, mode fs.FileMode) bool {
	path = filepath.Clean(path)
	given := strings.HasPrefix(path, containerSecrets) || strings.HasPrefix(path, unitSecrets)
	return mode.IsRegular() && (mode.Perm()&0o077 == 0 || given && mode.Perm()&0o022 == 0)
}
