package oidc

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/oidcsim"
	"stagecoach/dev/sim/simtest"
	"stagecoach/internal/fault"
)

// toStandIn sends requests to the simulator, whatever host they name.
type toStandIn struct{ host string }

func (t toStandIn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", t.host
	return http.DefaultTransport.RoundTrip(r)
}

// signIn signs a person in at the simulator, which acts as the options' issuer.
func signIn(t *testing.T, o Options, person oidcsim.Person, faults ...sim.Fault) (Identity, error) {
	t.Helper()
	o.ClientID, o.ClientSecret, o.RedirectURL = "id:of/us", "secret+:%", "https://pages.example/oidc/callback"
	standIn, err := oidcsim.New(oidcsim.Options{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, Issuer: o.Issuer, RedirectURI: o.RedirectURL, People: []oidcsim.Person{person},
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range faults {
		standIn.AddFault(f)
	}

	c := New(o)
	c.http.Transport = toStandIn{strings.TrimPrefix(simtest.Serve(t, standIn), "http://")}
	attempt := NewAttempt()
	address, err := c.Address(t.Context(), attempt)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{attempt.Verifier, o.ClientSecret} {
		if strings.Contains(address, url.QueryEscape(secret)) {
			t.Errorf("%s has a secret", address)
		}
	}

	answer, err := c.http.PostForm(address, url.Values{"person": {person.Subject}})
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	back, err := answer.Location()
	if err != nil || !attempt.Answers(back.Query().Get("state")) {
		t.Fatalf("%s, %v", back, err)
	}
	return c.Identify(t.Context(), back.Query().Get("code"), attempt)
}

// TestAtTelegramTheAccountCounts and not the subject, although it is a number. Elsewhere the claim means nothing.
func TestAtTelegramTheAccountCounts(t *testing.T) {
	t.Parallel()
	who, err := signIn(t, Options{Issuer: Telegram}, oidcsim.Person{Subject: "555", Name: "Ada", TelegramID: 7})
	if err != nil || who.TelegramID == nil || *who.TelegramID != 7 || who.Subject != "555" || who.Name != "Ada" || who.Admin != nil {
		t.Errorf("%+v, %v", who, err)
	}
	if _, err := signIn(t, Options{Issuer: Telegram}, oidcsim.Person{Subject: "555"}); fault.CodeOf(err) != fault.SignInNotVerified {
		t.Errorf("without the account: %v", err)
	}

	who, err = signIn(t, Options{Issuer: "https://other.example/", AdminGroup: "admins"}, oidcsim.Person{Subject: "555", TelegramID: 7, Groups: []string{"readers"}})
	if err != nil || who.TelegramID != nil || who.Issuer != "https://other.example/" || who.Admin == nil || *who.Admin {
		t.Errorf("elsewhere: %+v, %v", who, err)
	}
}

// TestGroupsAreReadFromUserinfo if the ID token has none. If neither mentions groups, nothing is decided.
func TestGroupsAreReadFromUserinfo(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, c := range map[string]struct {
		person oidcsim.Person
		fault  string // of the userinfo endpoint
		admin  *bool
		code   fault.Code
	}{
		"in the ID token":     {person: oidcsim.Person{Groups: []string{"admins"}}, admin: &yes},
		"in userinfo alone":   {person: oidcsim.Person{UserInfoGroups: []string{"a", "admins"}}, admin: &yes},
		"others in userinfo":  {person: oidcsim.Person{UserInfoGroups: []string{"a"}}, admin: &no},
		"none in userinfo":    {person: oidcsim.Person{UserInfoGroups: []string{}}, admin: &no},
		"the ID token counts": {person: oidcsim.Person{Groups: []string{"a"}, UserInfoGroups: []string{"admins"}}, admin: &no},
		"nowhere":             {},
		"of another person":   {person: oidcsim.Person{UserInfoGroups: []string{"admins"}}, fault: "wrong_subject", code: fault.SignInNotVerified},
		"no answer":           {person: oidcsim.Person{UserInfoGroups: []string{"admins"}}, fault: "500", code: fault.SignInProviderAway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.person.Subject = "ada"
			var faults []sim.Fault
			if c.fault != "" {
				faults = append(faults, sim.Fault{Match: "/userinfo", Kind: c.fault})
			}
			who, err := signIn(t, Options{Issuer: "https://other.example", AdminGroup: "admins"}, c.person, faults...)
			if fault.CodeOf(err) != c.code || (who.Admin == nil) != (c.admin == nil) || c.admin != nil && *who.Admin != *c.admin {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}

// TestClaims reads claims of several types.
func TestClaims(t *testing.T) {
	t.Parallel()
	for claim, want := range map[string]int64{`7`: 7, `"7"`: 7, ``: 0, `null`: 0, `"x"`: 0, `-7`: 0, `0`: 0, `7.5`: 0, `1e3`: 0, `99999999999999999999`: 0} {
		id, err := telegramID(json.RawMessage(claim))
		if (err == nil) != (want != 0) || err == nil && *id != want {
			t.Errorf("the id %q gives %v", claim, err)
		}
	}

	for claim, want := range map[string]bool{`["a","admins"]`: true, `"admins"`: true, `["Admins"]`: false, `[]`: false, `"a admins"`: false} {
		if member, err := isMember(json.RawMessage(claim), "admins"); err != nil || *member != want {
			t.Errorf("the groups %s: %v", claim, err)
		}
	}
	for _, claim := range []json.RawMessage{nil, json.RawMessage(`null`)} {
		if member, err := isMember(claim, "admins"); err != nil || member != nil {
			t.Errorf("no groups, %q: %v, %v", claim, member, err)
		}
	}
	for _, claim := range []string{`7`, `{"admins":true}`, `[1]`} {
		if _, err := isMember(json.RawMessage(claim), "admins"); fault.CodeOf(err) != fault.SignInNotVerified {
			t.Errorf("the groups %s: %v", claim, err)
		}
	}
}

// TestSecretsStayEncrypted rejects a provider's endpoints that are less safe than its issuer.
func TestSecretsStayEncrypted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		issuer, part string
		want         bool
	}{
		{"https://a.example", "https://b.example/token", true},
		{"https://a.example", "http://a.example/token", false},
		{"http://127.0.0.1:1", "http://127.0.0.1:1/token", true},
		{"http://127.0.0.1:1", "https://a.example/token", true},
		{"https://a.example", "/token", false},
		{"https://a.example", "", false},
		{"http://127.0.0.1:1", "ftp://a.example", false},
	} {
		if err := New(Options{Issuer: c.issuer}).safe(c.part); (err == nil) != c.want {
			t.Errorf("%s of %s: %v", c.part, c.issuer, err)
		}
	}
}

// TestARefusedExchangeHidesTheAnswer: it may repeat the code.
func TestARefusedExchangeHidesTheAnswer(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"invalid_client": "401, invalid_client", "planted": "401, another error"} {
		err := exchangeFault(t.Context(), &oauth2.RetrieveError{
			Response: &http.Response{StatusCode: http.StatusUnauthorized}, Body: []byte("planted"), ErrorCode: code, ErrorDescription: "planted",
		})
		f := fault.As(err)
		if f == nil || !strings.Contains(f.Cause.Error(), want) || strings.Contains(f.Cause.Error()+f.Error(), "planted") {
			t.Errorf("%v", err)
		}
	}
}
