package store_test

import (
	"bytes"
	"testing"

	"golang.org/x/oauth2"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
)

// TestReseal follows the order of the handbook: the new key behind the old one, then before it, then alone.
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
		token, err := s.TokenStore("yandex").CurrentToken(ctx)
		if err != nil {
			return err.Error()
		}
		return token.AccessToken + " " + token.RefreshToken
	}

	if err := open(older).TokenStore("yandex").Seed(ctx, oauth2.Token{AccessToken: "a", RefreshToken: "r"}); err != nil {
		t.Fatal(err)
	}

	both := open(newer, older)
	if got := read(both); got != "a r" {
		t.Fatalf("the second key opens %q", got)
	}
	if got := read(open(newer)); got == "a r" {
		t.Fatal("a key that did not seal opens")
	}
	if rows, err := both.Reseal(ctx); err != nil || rows != 1 {
		t.Fatalf("resealed %d, %v", rows, err)
	}
	if got := read(open(newer)); got != "a r" {
		t.Errorf("after resealing the new key opens %q", got)
	}
	if got := read(open(older)); got == "a r" {
		t.Error("after resealing the old key opens")
	}
}
