package config

import (
	"errors"
	"slices"
	"strings"
)

// adminTokenLength is the minimum length of the administrator's token in characters. store.NewToken makes 35.
const adminTokenLength = 32

// Public values from .env.example and .env.dev.
const (
	sampleWord = "change-me" // part of each sample secret in .env.example except the encryption key
	demoBot    = "1000000:only-for-the-stand-in-and-its-tests"
)

// The secrets in .env.dev. They are accepted only in the demonstration.
var demoSecrets = []string{
	"b25seSBmb3IgdGhlIGRlbW8sIGd1YXJkcyBub3RoaW4=",
	"sc_dev-administrator-of-the-demonstration",
	strings.Repeat("5e", 32),
}

var (
	errSample = errors.New("is the sample value of .env.example: it is public, create your own")
	errDemo   = errors.New("is the demonstration's value of .env.dev: it is public, create your own")
)

// isDemo reports whether this is the demonstration: with its bot, which the real Telegram does not know. The payments
// process has no bot: its shop is the simulator, which has no https, so no purchase is real.
func isDemo(program Program, lookup func(string) (string, bool)) bool {
	if program == ForPayments {
		shop, _ := lookup("STAGECOACH_FRAGMENT_URL")
		return strings.HasPrefix(shop, "http://")
	}
	token, _ := read(lookup, Setting{Name: "STAGECOACH_TELEGRAM_TOKEN", Secret: true}) // its own reading reports errors
	return token == demoBot
}

// checkSample refuses values published in the repository.
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
