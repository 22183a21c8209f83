package config

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// adminTokenLength is the least length of the administrator's token in characters. store.NewToken makes 35.
const adminTokenLength = 32

// Public values of .env.example and .env.dev.
const (
	sampleWord = "change-me" // part of each sample secret of .env.example but the encryption key
	demoBot    = "1000000:only-for-the-stand-in-and-its-tests"
)

// The secrets of .env.dev. They are accepted in the demonstration only.
var demoSecrets = []string{
	"b25seSBmb3IgdGhlIGRlbW8sIGd1YXJkcyBub3RoaW4=",
	"sc_dev-administrator-of-the-demonstration",
	strings.Repeat("5e", 32),
}

var (
	errSample = errors.New("is the sample value of .env.example: everybody knows it, make one of your own")
	errDemo   = errors.New("is the demonstration's value of .env.dev: everybody knows it, make one of your own")
)

// isDemo says whether this is the demonstration: with its bot, which the real Telegram does not know. The process for payments
// has no bot: its shop is the stand-in, which has no https, and so no purchase is a real one.
func isDemo(program Program, lookup func(string) (string, bool)) bool {
	if program == ForPayments {
		shop, _ := lookup("STAGECOACH_FRAGMENT_URL")
		return strings.HasPrefix(shop, "http://")
	}
	token, _ := read(lookup, Setting{Name: "STAGECOACH_TELEGRAM_TOKEN", Secret: true}) // its own turn reports an error
	return token == demoBot
}

// checkSample refuses values that are printed in the repository.
func checkSample(value string, demo bool) error {
	for _, part := range strings.FieldsFunc(value, isSeparator) {
		if slices.Contains(demoSecrets, part) && !demo {
			return errDemo
		}
	}
	if strings.Contains(value, sampleWord) {
		return errSample
	}
	return nil
}

// isZero says whether a key is the sample one.
func isZero(key []byte) bool { return bytes.Count(key, []byte{0}) == len(key) }
