package yandexsim

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"stagecoach/dev/sim/simtest"
)

// tokenReply is the OAuth server's response.
type tokenReply struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	ExpiresIn    int    `json:"expires_in"`
	TokenType    string `json:"token_type"`
	Error        string `json:"error"`
	Description  string `json:"error_description"`
}

// refresh exchanges a refresh token as the application "id".
func refresh(t testing.TB, base, token string) (int, tokenReply) {
	t.Helper()
	return postForm(t, base, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {"id"}, "client_secret": {"secret"},
	}, false)
}

func postForm(t testing.TB, base string, values url.Values, basic bool) (int, tokenReply) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", base+"/token", strings.NewReader(values.Encode()))
	if err != nil {
		t.Fatal(err)
	}

	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic {
		r.SetBasicAuth("id", "secret")
	}

	status, body := simtest.Answer(t, r)
	var reply tokenReply
	if err := json.Unmarshal(body, &reply); err != nil {
		t.Fatalf("%d %s", status, body)
	}

	return status, reply
}

// works reports whether an access token is accepted.
func works(t testing.TB, base, token string) bool {
	t.Helper()
	status, _ := diskAs(t, base, "/v1/disk", "OAuth "+token)
	return status == http.StatusOK
}

func TestTokensRotate(t *testing.T) {
	t.Parallel()
	y, base := yandexTest(t, nil)
	status, first := refresh(t, base, "refresh-0")
	if status != 200 || first.TokenType != "bearer" || first.ExpiresIn != 86400 || !works(t, base, first.AccessToken) {
		t.Fatalf("%d %+v", status, first)
	}
	if !works(t, base, "access-0") {
		t.Error("a refresh must not end the old access token")
	}
	if status, reply := refresh(t, base, "refresh-0"); status != 400 || reply.Error != "invalid_grant" || reply.Description == "" {
		t.Errorf("an old refresh token works: %d %+v", status, reply)
	}

	status, second := postForm(
		t, base, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {first.RefreshToken}}, true,
	)
	if status != 200 || second.RefreshToken == first.RefreshToken {
		t.Fatalf("%d %+v", status, second)
	}
	if y.ExpireAccessTokens(); works(t, base, second.AccessToken) {
		t.Error("an expired access token works")
	}

	status, third := refresh(t, base, second.RefreshToken)
	if status != 200 || !works(t, base, third.AccessToken) {
		t.Fatalf("%d %+v", status, third)
	}
	y.RevokeRefreshTokens()
	if status, reply := refresh(t, base, third.RefreshToken); status != 400 || reply.Error != "invalid_grant" {
		t.Errorf("a revoked refresh token works: %d %+v", status, reply)
	}
	if status, _ := refresh(t, base, ""); status != 400 {
		t.Error("no refresh token works")
	}
}

func TestTokensSurviveARestart(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "tokens.json")
	_, base := yandexTest(t, func(o *Options) { o.StateFile = state })
	_, first := refresh(t, base, "refresh-0")

	_, base = yandexTest(t, func(o *Options) { o.StateFile = state })
	if !works(t, base, first.AccessToken) || !works(t, base, "access-0") {
		t.Error("an access token is lost")
	}
	if status, _ := refresh(t, base, "refresh-0"); status != 400 {
		t.Error("the first refresh token works again")
	}
	if status, _ := refresh(t, base, first.RefreshToken); status != 200 {
		t.Error("the refresh token is lost")
	}

	_, base = yandexTest(t, func(o *Options) { o.StateFile, o.RefreshToken = state, "another" })
	if status, _ := refresh(t, base, "another"); status != 200 {
		t.Error("another first refresh token does not start anew")
	}
	if _, err := New(Options{Dir: t.TempDir(), StateFile: t.TempDir()}); err == nil {
		t.Error("no error for a state file that is a folder")
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no error without a folder")
	}
}
