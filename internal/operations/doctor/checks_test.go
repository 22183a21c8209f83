package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mymmrac/telego"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/oauth2"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/oidcsim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/money"
	"stagecoach/internal/oidc"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/telegram"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
	"stagecoach/internal/yandex"
)

// Secrets that no check's text may show.
const (
	secretToken    = "7000000001:" + "AAs3cr3tBotTokens3cr3tBotToken01234"
	secretRefresh  = "s3cr3t-refresh"
	secretAccess   = "s3cr3t-access"
	secretPassword = "s3cr3t-password"
	secretCookies  = "stel_ssid=s3cr3t1; stel_dt=-180; stel_token=s3cr3t2; stel_ton_token=s3cr3t3"
	secretKey      = "s3cr3t-key"
)

// anchors are a document's headings in the form used by links.
func anchors(t *testing.T, document string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", document))
	if err != nil {
		t.Fatal(err)
	}

	var all []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, "#"+strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

var reference = regexp.MustCompile(`(docs/[a-z-]+\.md)(#[a-z-]+)`)

// want runs the check, and compares its result. Every check that needs action says what to do, in an existing part of a
// document.
func want(t *testing.T, check doctor.Check, state doctor.State, code fault.Code, account, detail string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	found := check.Run(ctx)
	if found.State != state || found.Code != code || !strings.Contains(found.Account, account) || !strings.Contains(found.Detail, detail) {
		t.Errorf("%s: %+v, want %s %s of %q, %q", check.System, found, state, code, account, detail)
	}

	text, err := json.Marshal(found)
	if err != nil || strings.Contains(string(text), "s3cr3t") {
		t.Errorf("%s shows a secret: %s, %v", check.System, text, err)
	}

	if state == doctor.StateWorks {
		if found.Next != "" {
			t.Errorf("%s works, and says %q", check.System, found.Next)
		}
		return
	}

	about := reference.FindStringSubmatch(found.Next)
	if about == nil || !slices.Contains(anchors(t, about[1]), about[2]) {
		t.Errorf("%s points to no part of a document: %q", check.System, found.Next)
	}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	url, stop, err := sim.Start("127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

const nobody = "http://127.0.0.1:1" // a port without a listener

// hooked is a bot whose updates go to a webhook.
type hooked struct{ doctor.Bot }

func (hooked) GetWebhookInfo(context.Context) (*telego.WebhookInfo, error) {
	return &telego.WebhookInfo{URL: "https://example.org/s3cr3t"}, nil
}

func TestTelegram(t *testing.T) {
	t.Parallel()
	standIn := must[*telegramsim.Server](t)(telegramsim.New(telegramsim.Options{Dir: t.TempDir(), Token: secretToken}))
	t.Cleanup(func() { _ = standIn.Close() })
	url := serve(t, standIn)
	bot := func(url, token string) doctor.Bot {
		return must[*telego.Bot](t)(telegram.New(telegram.Options{Token: token, APIURL: url}))
	}

	own := bot(url, secretToken)

	want(t, doctor.OfTelegram(own, url, true), doctor.StateWorks, "", "@stagecoach_stand_in_bot (7000000001)", "2000 MB")
	want(t, doctor.OfTelegram(own, "https://api.telegram.org", false), doctor.StateWorks, "", "@stagecoach", "50 MB")
	want(t, doctor.OfTelegram(hooked{own}, url, false), doctor.StateWorks, "", "@stagecoach", "")
	want(t, doctor.OfTelegram(hooked{own}, url, true), doctor.StateRefused, "", "@stagecoach", "webhook")
	want(
		t, doctor.OfTelegram(bot(url, "7000000001:"+"AAs3cr3tAnothers3cr3tAnother0123xxx"), url, true), doctor.StateRefused,
		fault.TelegramUnauthorized, "", "",
	)
	want(
		t, doctor.OfTelegram(bot(nobody, secretToken), nobody, true), doctor.StateUnreachable, fault.TelegramUnavailable, "",
		"",
	)
	standIn.AddFault(sim.Fault{Match: "getMe", Kind: "400", Times: 1})
	want(t, doctor.OfTelegram(own, url, true), doctor.StateRefused, fault.TelegramRejected, "", "")
	standIn.AddFault(sim.Fault{Match: "getWebhookInfo", Kind: "500", Times: 1})
	want(t, doctor.OfTelegram(own, url, true), doctor.StateUnreachable, fault.TelegramUnavailable, "", "")
}

// tokens is a store with one token.
type tokens struct {
	oauth2.Token
	err error
}

func (s tokens) CurrentToken(context.Context) (oauth2.Token, error) { return s.Token, s.err }

func TestYandex(t *testing.T) {
	t.Parallel()
	standIn := must[*yandexsim.Server](t)(yandexsim.New(yandexsim.Options{
		Dir: t.TempDir(), RefreshToken: secretRefresh, AccessToken: secretAccess,
	}))

	t.Cleanup(func() { _ = standIn.Close() })
	url := serve(t, standIn)
	disk := func(url, root string) *yandex.Client { return yandex.New(yandex.Options{APIURL: url, Root: root}) }
	own, root := disk(url, "disk:/"), "disk:/"
	past, future := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	good := oauth2.Token{AccessToken: secretAccess, RefreshToken: secretRefresh, Expiry: future}

	want(
		t, doctor.OfYandex(own, tokens{Token: good}, root), doctor.StateWorks, "", "account ",
		"disk:/, the token is renewed by itself",
	)
	want(
		t, doctor.OfYandex(own, tokens{Token: oauth2.Token{AccessToken: secretAccess}}, root), doctor.StateWorks, "",
		"account ", "nothing renews the token",
	)
	want(
		t, doctor.OfYandex(own, tokens{Token: oauth2.Token{AccessToken: secretAccess, Expiry: future}}, root),
		doctor.StateWorks, "", "account ", "ends 2",
	)
	want(t, doctor.OfYandex(own, tokens{}, root), doctor.StateOff, "", "", "no token")
	want(
		t, doctor.OfYandex(own, tokens{Token: oauth2.Token{RefreshToken: secretRefresh}}, root), doctor.StateUnverified, "",
		"", "never made",
	)
	want(
		t,
		doctor.OfYandex(
			own, tokens{Token: oauth2.Token{AccessToken: secretAccess, RefreshToken: secretRefresh, Expiry: past}}, root,
		),
		doctor.StateUnverified, "", "", "has ended",
	)

	want(
		t, doctor.OfYandex(own, tokens{Token: oauth2.Token{AccessToken: secretAccess, Expiry: past}}, root),
		doctor.StateRefused, fault.YandexUnauthorized, "", "has ended",
	)
	want(
		t, doctor.OfYandex(own, tokens{err: errors.New("sealed with s3cr3t")}, root), doctor.StateRefused, fault.Internal, "",
		"",
	)
	want(
		t, doctor.OfYandex(own, tokens{err: fault.New(fault.StoreUnavailable, "")}, root), doctor.StateUnreachable,
		fault.StoreUnavailable, "", "",
	)
	want(
		t, doctor.OfYandex(disk(url, "disk:/gone"), tokens{Token: good}, root), doctor.StateRefused, fault.FileNotFound, "",
		"",
	)
	want(
		t, doctor.OfYandex(disk(nobody, root), tokens{Token: good}, root), doctor.StateUnreachable, fault.YandexUnavailable,
		"", "",
	)
	standIn.AddFault(sim.Fault{Match: "/v1/disk?fields", Kind: "403", Times: 1})
	want(t, doctor.OfYandex(own, tokens{Token: good}, root), doctor.StateWorks, "", "", "disk:/")
	standIn.AddFault(sim.Fault{Match: "/v1/disk", Kind: "400", Times: 1})
	want(t, doctor.OfYandex(own, tokens{Token: good}, root), doctor.StateRefused, fault.YandexProtocol, "", "")

	standIn.ExpireAccessTokens()
	want(
		t, doctor.OfYandex(own, tokens{Token: good}, root), doctor.StateUnverified, fault.YandexUnauthorized, "", "refused",
	)
	want(
		t, doctor.OfYandex(own, tokens{Token: oauth2.Token{AccessToken: secretAccess}}, root), doctor.StateRefused,
		fault.YandexUnauthorized, "", "refused",
	)

	for _, r := range standIn.Requests() {
		if r.Path == "/token" {
			t.Error("a check has used a refresh token")
		}
	}
}

func TestQBittorrent(t *testing.T) {
	t.Parallel()
	standIn := must[*torrentsim.QBittorrent](t)(
		torrentsim.NewQBittorrent(torrentsim.QBittorrentOptions{Password: secretPassword}),
	)

	t.Cleanup(func() { _ = standIn.Close() })
	url := serve(t, standIn)
	client := func(url, password string) *qbittorrent.Client {
		o := qbittorrent.Options{URL: url, Password: password, ActiveCategory: "a", DoneCategory: "d"}
		if password != "" {
			o.Username = "admin"
		}
		return qbittorrent.New(o)
	}

	want(
		t, doctor.OfQBittorrent(client(url, secretPassword), true), doctor.StateWorks, "", "logged in", "qBittorrent v4.5.2",
	)
	want(
		t, doctor.OfQBittorrent(client(nobody, secretPassword), true), doctor.StateUnreachable, fault.ProviderUnavailable, "",
		"",
	)

	wrong := client(url, "s3cr3t-but-wrong")
	for range 6 { // however often it checks, the address is not banned
		want(t, doctor.OfQBittorrent(wrong, true), doctor.StateRefused, fault.ProviderUnauthorized, "", "")
	}

	tries := 0
	for _, r := range standIn.Requests() {
		if strings.HasSuffix(r.Path, "/auth/login") {
			tries++
		}
	}

	if tries != 2 { // the right one, and the wrong one once
		t.Errorf("%d logins", tries)
	}

	other := serve(
		t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>s3cr3t</html>")) }),
	)

	want(
		t, doctor.OfQBittorrent(client(other, ""), false), doctor.StateRefused, fault.ProviderRejected, "", "another program",
	)
	want(t, doctor.Off(operations.QBittorrent, "no address", doctor.AboutDownloads), doctor.StateOff, "", "", "no address")
}

func TestProvider(t *testing.T) {
	t.Parallel()
	standIn := must[*oidcsim.Server](t)(oidcsim.New(oidcsim.Options{ClientID: "us", ClientSecret: secretPassword}))
	t.Cleanup(func() { _ = standIn.Close() })
	check := func(issuer, secret string) doctor.Check {
		return doctor.OfProvider(oidc.New(oidc.Options{Issuer: issuer, ClientID: "us", ClientSecret: secret}), issuer, "us")
	}
	url := serve(t, standIn)

	want(t, check(url, secretPassword), doctor.StateWorks, "", "client us", url)
	want(t, check(url, "s3cr3t-but-wrong"), doctor.StateRefused, fault.SignInNotVerified, "", "")
	want(t, check(url+"/", secretPassword), doctor.StateUnreachable, fault.SignInProviderAway, "", "")
	want(t, check(nobody, secretPassword), doctor.StateUnreachable, fault.SignInProviderAway, "", "")
	for kind, state := range map[string]doctor.State{"400": doctor.StateUnverified, "500": doctor.StateUnreachable} {
		standIn.AddFault(sim.Fault{Match: "/token", Kind: kind, Times: 1})
		if found := check(url, secretPassword).Run(t.Context()); found.State != state {
			t.Errorf("%s at the token endpoint: %+v, want %s", kind, found, state)
		}
	}
	want(t, doctor.Off(doctor.Provider, "no issuer", doctor.AboutProvider), doctor.StateOff, "", "", "no issuer")
}

func ownWallet(t *testing.T, seed string) *ton.Wallet {
	t.Helper()
	return must[*ton.Wallet](t)(ton.NewWallet(must[ton.Key](t)(ton.ParseKey(strings.Repeat(seed, 32))), ton.Mainnet))
}

func TestChain(t *testing.T) {
	t.Parallel()
	wallet := ownWallet(t, "5e")
	standIn := must[*tonsim.TonCenter](t)(tonsim.NewTonCenter(tonsim.TonCenterOptions{
		PublicKey: wallet.PublicKey(), Balance: 12_500_000_000,
	}))

	t.Cleanup(func() { _ = standIn.Close() })
	url := serve(t, standIn)
	client := func(url string) *toncenter.Client {
		return toncenter.New(toncenter.Options{URL: url, APIKey: secretKey, RequestsPerSecond: 1e6})
	}

	own, dead := client(url), client(nobody)

	want(t, doctor.OfToncenter(own, true), doctor.StateWorks, "", "with a key", "block ")
	want(t, doctor.OfToncenter(own, false), doctor.StateWorks, "", "without a key", "block ")
	want(
		t, doctor.OfWallet(wallet.Address(), own), doctor.StateWorks, "", wallet.Address().Friendly(false), "12.5 GRAM, V5R1",
	)
	want(t, doctor.OfToncenter(dead, true), doctor.StateUnreachable, fault.ChainUnavailable, "", "")
	want(
		t, doctor.OfWallet(wallet.Address(), dead), doctor.StateUnreachable, fault.ChainUnavailable,
		wallet.Address().Friendly(false), "",
	)
	standIn.AddFault(sim.Fault{Match: "masterchainInfo", Kind: "403", Times: 1})
	want(t, doctor.OfToncenter(own, true), doctor.StateRefused, fault.ChainUnauthorized, "", "")
	slow := toncenter.New(toncenter.Options{
		URL: url, RequestsPerSecond: 1e6, Now: func() time.Time { return time.Now().Add(time.Hour) },
	})

	want(t, doctor.OfToncenter(slow, true), doctor.StateRefused, fault.ChainClock, "", "")
}

func TestFragment(t *testing.T) {
	t.Parallel()
	wallet := ownWallet(t, "5e")
	chain := must[*tonsim.TonCenter](t)(tonsim.NewTonCenter(tonsim.TonCenterOptions{
		PublicKey: wallet.PublicKey(), Balance: int64(money.TON),
	}))

	chainURL := serve(t, chain)
	standIn := must[*tonsim.Fragment](t)(tonsim.NewFragment(tonsim.FragmentOptions{
		TonCenterURL: chainURL, Token: "s3cr3t2",
	}))

	t.Cleanup(func() { _ = errors.Join(standIn.Close(), chain.Close()) })
	url := serve(t, standIn)
	client := func(url, cookies string) *fragment.Client {
		return fragment.New(fragment.Options{
			URL: url, Cookies: must[fragment.Cookies](t)(fragment.ParseCookies(cookies)), RequestsPerSecond: 1e6,
		})
	}

	own, address := client(url, secretCookies), wallet.Address()
	set := func(change func(*tonsim.FragmentSettings)) {
		t.Helper()
		settings := standIn.CurrentSettings()
		change(&settings)
		if err := standIn.Set(settings); err != nil {
			t.Fatal(err)
		}
	}

	want(t, doctor.OfFragment(own, address), doctor.StateWorks, "", address.Friendly(false), "connected to the wallet")
	other := ownWallet(t, "7a").Address().Friendly(false)
	set(func(s *tonsim.FragmentSettings) { s.Wallet = other })
	want(t, doctor.OfFragment(own, address), doctor.StateRefused, "", other, "another wallet")
	set(func(s *tonsim.FragmentSettings) { s.Wallet = "no address" }) // a page in another form
	want(t, doctor.OfFragment(own, address), doctor.StateUnverified, "", "", "no page shows")
	set(func(s *tonsim.FragmentSettings) { s.Wallet, s.SessionFailed = "", "Session expired" })
	want(t, doctor.OfFragment(own, address), doctor.StateRefused, fault.FragmentUnauthorized, "", "")
	set(func(s *tonsim.FragmentSettings) { s.SessionFailed = "" })
	want(
		t, doctor.OfFragment(client(url, strings.Replace(secretCookies, "s3cr3t2", "s3cr3t9", 1)), address),
		doctor.StateRefused, fault.FragmentUnauthorized, "", "",
	)
	want(
		t, doctor.OfFragment(client(nobody, secretCookies), address), doctor.StateUnreachable, fault.FragmentUnreachable, "",
		"",
	)
	standIn.AddFault(sim.Fault{Match: "/my/profile", Kind: "503", Times: 1})
	want(t, doctor.OfFragment(own, address), doctor.StateUnreachable, fault.FragmentUnavailable, "", "")

	begun := []string{"initBuyStarsRequest", "getBuyStarsLink", "confirmReq"}
	for _, r := range standIn.Requests() {
		if slices.Contains(begun, r.Call) {
			t.Errorf("a check has called %s", r.Call)
		}
	}
}

// service is a Temporal with scripted answers.
type service struct {
	workflowservice.WorkflowServiceClient
	operatorservice.OperatorServiceClient
	system, described, listed error

	attributes map[string]enumspb.IndexedValueType // besides those of the contract, or instead
}

func (s service) OperatorService() operatorservice.OperatorServiceClient { return s }

func (s service) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption,
) (*operatorservice.ListSearchAttributesResponse, error) {
	all := map[string]enumspb.IndexedValueType{
		"Attention": enumspb.INDEXED_VALUE_TYPE_BOOL, "DeadlineAt": enumspb.INDEXED_VALUE_TYPE_DATETIME,
		"Another": enumspb.INDEXED_VALUE_TYPE_INT,
	}
	for _, name := range []string{"Entity", "Stage", "WaitsFor", "Owner", "Workspace", "Assignee"} {
		all[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	maps.Copy(all, s.attributes)
	maps.DeleteFunc(all, func(_ string, t enumspb.IndexedValueType) bool { return t == enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED })
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: all}, s.listed
}

func (s service) WorkflowService() workflowservice.WorkflowServiceClient { return s }

func (s service) GetSystemInfo(
	context.Context, *workflowservice.GetSystemInfoRequest, ...grpc.CallOption,
) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{ServerVersion: "1.29.1"}, s.system
}

func (s service) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{
		Config: &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(720 * time.Hour)},
	}, s.described
}

func TestTemporal(t *testing.T) {
	t.Parallel()
	want(
		t, doctor.OfTemporal(service{}, "ours"), doctor.StateWorks, "", "namespace ours",
		"Temporal 1.29.1, keeps closed workflows 720 h",
	)
	away := service{system: serviceerror.NewUnavailable("s3cr3t")}
	want(t, doctor.OfTemporal(away, "ours"), doctor.StateUnreachable, fault.TemporalUnavailable, "", "")
	closed := service{system: serviceerror.NewPermissionDenied("s3cr3t", "")}
	want(t, doctor.OfTemporal(closed, "ours"), doctor.StateRefused, fault.Internal, "", "")
	attributes := service{attributes: map[string]enumspb.IndexedValueType{
		"Owner": enumspb.INDEXED_VALUE_TYPE_TEXT, "Stage": enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED,
	}}
	want(
		t, doctor.OfTemporal(attributes, "ours"), doctor.StateRefused, fault.Internal, "namespace ours",
		"Owner is Text instead of Keyword, Stage is missing",
	)
	cloud := service{listed: serviceerror.NewPermissionDenied("s3cr3t", "")}
	want(t, doctor.OfTemporal(cloud, "ours"), doctor.StateWorks, "", "namespace ours", "")
	missing := service{described: serviceerror.NewNamespaceNotFound("s3cr3t")}
	want(t, doctor.OfTemporal(missing, "ours"), doctor.StateRefused, fault.Internal, "", "")
}

// record is a database with scripted answers.
type record struct {
	about, ping, wallet error
}

func (r record) About(context.Context) (operations.About, error) {
	return operations.About{Version: "16.10", Database: "ours", Role: "us", Schema: 29}, r.about
}

func (r record) Ping(context.Context) error { return r.ping }

func (r record) ActiveWallet(context.Context) (transaction.Wallet, error) {
	return transaction.Wallet{}, r.wallet
}

func TestRecord(t *testing.T) {
	t.Parallel()
	want(t, doctor.OfPostgreSQL(record{}), doctor.StateWorks, "", "us in ours", "PostgreSQL 16.10, schema 29")
	want(
		t, doctor.OfPostgreSQL(record{about: fault.New(fault.StoreUnavailable, "")}), doctor.StateUnreachable,
		fault.StoreUnavailable, "", "",
	)
	want(
		t, doctor.OfPostgreSQL(record{ping: fault.New(fault.StoreUnavailable, "the disk of the database is full")}),
		doctor.StateRefused, fault.StoreUnavailable, "us in ours", "29, the disk of the database is full",
	)
	want(t, doctor.OfPostgreSQL(record{about: errors.New("s3cr3t")}), doctor.StateRefused, fault.Internal, "", "")

	inner := doctor.OfPostgreSQL(record{})
	want(t, doctor.OnceThereIsAWallet(record{}, inner), doctor.StateWorks, "", "us in ours", "")
	want(
		t, doctor.OnceThereIsAWallet(record{wallet: fault.New(fault.WalletNotFound, "")}, inner), doctor.StateOff, "", "",
		"no wallet",
	)
}
