// Package webhook sends events to users' endpoints, signed as Standard Webhooks (https://www.standardwebhooks.com). Its
// errors contain neither addresses nor secrets.
package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
)

// NewSecret returns a new signing secret.
func NewSecret() string {
	raw := make([]byte, secretBytes)
	rand.Read(raw)
	return secretPrefix + base64.StdEncoding.EncodeToString(raw)
}

var errSecret = errors.New("a secret of a webhook has another form than NewSecret gives")

// sign sets the headers that prove a message's sender: one signature by each secret, so that a receiver may know any of
// them.
func sign(header http.Header, secrets []string, id string, at time.Time, body []byte) error {
	seconds := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		text, prefixed := strings.CutPrefix(secret, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !prefixed {
			return errSecret
		}

		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + seconds + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}

	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", seconds)
	header.Set("Webhook-Signature", strings.Join(signatures, " "))
	return nil
}
