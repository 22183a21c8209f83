package store_test

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
)

// TestReseal follows the handbook's order: the new key behind the old one, then before it, then alone.
func TestReseal(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), testdb.URL(t)
	older, newer := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	open := func(keys ...[]byte) *store.Store {
		t.Helper()
		s, err := store.Open(ctx, url, keys...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}

	read := func(s *store.Store) string {
		t.Helper()
		token, err := s.Accounts.TokenStore("yandex").CurrentToken(ctx)
		if err != nil {
			return err.Error()
		}
		return token.AccessToken + " " + token.RefreshToken
	}

	if err := open(older).Accounts.TokenStore("yandex").Seed(ctx, oauth2.Token{AccessToken: "a", RefreshToken: "r"}); err != nil {
		t.Fatal(err)
	}

	both := open(newer, older)
	if got := read(both); got != "a r" {
		t.Fatalf("the second key opens %q", got)
	}
	if got := read(open(newer)); got == "a r" {
		t.Fatal("a key that did not seal opens")
	}
	if rows, err := both.Accounts.Reseal(ctx); err != nil || rows != 1 {
		t.Fatalf("resealed %d, %v", rows, err)
	}
	if got := read(open(newer)); got != "a r" {
		t.Errorf("after resealing the new key opens %q", got)
	}
	if got := read(open(older)); got == "a r" {
		t.Error("after resealing the old key opens")
	}
}

// TestSealedValuesAreBoundToTheirRow swaps encrypted values between rows and columns: none can be decrypted at another
// place, not even by the command that re-encrypts them.
func TestSealedValuesAreBoundToTheirRow(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann, bob, ctx := w.user(1), w.user(2), t.Context()
	for _, provider := range []string{"yandex", "other"} {
		w.must(w.Accounts.TokenStore(provider).Seed(ctx, oauth2.Token{AccessToken: "a " + provider, RefreshToken: "r " + provider}))
	}
	hers, his := w.hook(ann), w.hook(bob)

	for name, swap := range map[string]string{
		"tokens of providers":   `UPDATE oauth_tokens t SET access_token = o.access_token FROM oauth_tokens o WHERE t.provider <> o.provider`,
		"both of a provider":    `UPDATE oauth_tokens SET access_token = refresh_token, refresh_token = access_token`,
		"secrets of webhooks":   `UPDATE webhooks t SET secret = o.secret FROM webhooks o WHERE t.id <> o.id`,
		"addresses of webhooks": `UPDATE webhooks t SET address = o.address FROM webhooks o WHERE t.id <> o.id`,
		"both of a webhook":     `UPDATE webhooks SET address = secret, secret = address`,
		"users of webhooks":     `UPDATE webhooks t SET user_id = o.user_id FROM webhooks o WHERE t.id <> o.id`,
	} {
		w.past(swap)
		if strings.Contains(swap, "oauth_tokens") {
			if token, err := w.Accounts.TokenStore("yandex").CurrentToken(ctx); err == nil {
				t.Errorf("%s: opened as %q", name, token.AccessToken)
			}
			if _, err := w.Accounts.Reseal(ctx); err == nil {
				t.Errorf("%s: encrypted again", name)
			}
		} else {
			for user, id := range map[int64]int64{ann.ID: hers.ID, bob.ID: his.ID} {
				if name == "users of webhooks" {
					user = ann.ID + bob.ID - user
				}
				if got, err := w.Webhooks.ByID(ctx, user, id); err == nil || fault.CodeOf(err) == fault.WebhookNotFound {
					t.Errorf("%s: opened as %q, %v", name, got.Address, err)
				}
			}
			if _, err := w.Webhooks.Reseal(ctx); err == nil {
				t.Errorf("%s: encrypted again", name)
			}
		}
		w.past(swap)
	}

	token, err := w.Accounts.TokenStore("yandex").CurrentToken(ctx)
	if err != nil || token.AccessToken != "a yandex" {
		t.Errorf("at its place: %q, %v", token.AccessToken, err)
	}
	if got, err := w.Webhooks.ByID(ctx, ann.ID, hers.ID); err != nil || got.Address != hookAddress {
		t.Errorf("at its place: %q, %v", got.Address, err)
	}
}

// TestAttemptsOpenInAllProcesses of an installation, even during a key change, and nowhere else.
func TestAttemptsOpenInAllProcesses(t *testing.T) {
	t.Parallel()
	older, newer := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	open := func(keys ...[]byte) *account.Store {
		s, err := store.Open(t.Context(), testdb.URL(t), keys...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s.Accounts
	}

	sealed := open(older).SealAttempt([]byte("kept"))
	if bytes.Contains(sealed, []byte("kept")) {
		t.Error("the browser can read its attempt")
	}
	for _, s := range []*account.Store{open(older), open(newer, older)} {
		if kept, err := s.OpenAttempt(sealed); err != nil || string(kept) != "kept" {
			t.Errorf("another process gets %q, %v", kept, err)
		}
	}
	if _, err := open(newer).OpenAttempt(sealed); err == nil {
		t.Error("another installation opens the attempt")
	}
	for _, made := range [][]byte{nil, []byte("kept"), append([]byte{0}, sealed...), sealed[:len(sealed)-1]} {
		if _, err := open(older).OpenAttempt(made); err == nil {
			t.Errorf("%q opens", made)
		}
	}
}
