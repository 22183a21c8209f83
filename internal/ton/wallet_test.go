package ton

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"

	"stagecoach/internal/money"
)

var seed = strings.Repeat("5e", 32)

func testWallet(t *testing.T) *Wallet {
	t.Helper()
	key, err := ParseKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWallet(key, Mainnet)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// library is the same wallet, signed for by the library.
func library(t *testing.T, seqno uint32, ttl uint32) *wallet.Wallet {
	t.Helper()
	raw, _ := hex.DecodeString(seed)
	w, err := wallet.FromPrivateKeyWithOptions(
		ed25519.NewKeyFromSeed(raw), wallet.ConfigV5R1Final{NetworkGlobalID: Mainnet},
	)
	if err != nil {
		t.Fatal(err)
	}

	spec := w.GetSpec().(*wallet.SpecV5R1Final)
	spec.SetMessagesTTL(ttl)
	spec.SetSeqnoFetcher(func(context.Context, uint32) (uint32, error) { return seqno, nil })
	return w
}

func TestSignIsWhatTheLibrarySigns(t *testing.T) {
	t.Parallel()
	own := testWallet(t)
	to, _, err := ParseAddress("EQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVClpA")
	if err != nil {
		t.Fatal(err)
	}

	body, err := CommentBody(strings.Repeat("many words ", 40))
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		seqno  uint32
		bounce bool
		body   []byte
	}{{0, false, body}, {1, true, body}, {7, false, nil}} {
		other := library(t, c.seqno, 60)
		if got := other.Address().StringRaw(); got != own.Address().Raw() {
			t.Fatalf("address %s, want %s", own.Address().Raw(), got)
		}

		root, err := parseBody(c.body)
		if err != nil {
			t.Fatal(err)
		}

		message, err := other.PrepareExternalMessageForMany(t.Context(), c.seqno == 0, []*wallet.Message{{Mode: 3, InternalMessage: &tlb.InternalMessage{
			IHRDisabled: true, Bounce: c.bounce, DstAddr: to.library(true), Amount: tlb.FromNanoTONU(460_900_000), Body: root,
		}}})
		if err != nil {
			t.Fatal(err)
		}

		until := validUntil(t, message.Body) // the second in which it was made, and the TTL
		signed, err := own.Sign(c.seqno, until, Payment{To: to, Amount: 460_900_000, Body: c.body, Bounce: c.bounce})
		if err != nil {
			t.Fatal(err)
		}

		want, err := tlb.ToCell(message)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(signed.BoC, want.ToBOC()) || signed.Hash != hex.EncodeToString(message.NormalizedHash()) {
			t.Errorf("seqno %d: other bytes than the library's", c.seqno)
		}
	}
}

func validUntil(t *testing.T, body *cell.Cell) time.Time {
	t.Helper()
	s := body.MustBeginParse()
	if _, err := s.LoadSlice(64); err != nil {
		t.Fatal(err)
	}
	return time.Unix(int64(s.MustLoadUInt(32)), 0)
}

// What another implementation (@ton/ton) produces from the same words and the same payment.
const (
	goldenWords = "into unique rabbit misery shield trade kingdom nice treat rubber arm uphold garment input piece rather junk furnace unfair gentle tip gorilla try witness"
	goldenSeed  = "be93f73ea582de5f40a622ccab6bf01294e84600abed37b72d66107670aab3e8"
	goldenFrom  = "UQCykSpGvFO6QCZTeHh4aCz7HsCsX_z2v5GXqS8Lt0e1PQtP"
	goldenBody  = "c555376e504fdfa74e59d04beac3216149b758931e3741cbaae421792518260c"
	goldenHash  = "82751b415ce5bdc77755082ae98927ef7beb5f0d34251b6821925036b7781e35"
)

func TestSignIsWhatOthersSign(t *testing.T) {
	t.Parallel()
	key, err := ParseKey(goldenWords)
	if err != nil || hex.EncodeToString(key.private().Seed()) != goldenSeed {
		t.Fatal(err)
	}

	w, err := NewWallet(key, Mainnet)
	if err != nil || w.Address().Friendly(false) != goldenFrom {
		t.Fatalf("%s %v", w.Address().Friendly(false), err)
	}

	to, bounce, err := ParseAddress("UQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVCgeF")
	if err != nil {
		t.Fatal(err)
	}

	rest := cell.BeginCell().MustStoreStringSnake(" Stars \n\nRef#x").EndCell()
	body := cell.BeginCell().MustStoreUInt(
		0, 32,
	).MustStoreStringSnake("10000 Telegram").MustStoreRef(rest).EndCell().ToBOC()

	signed, err := w.Sign(7, time.Unix(1_900_000_001, 0), Payment{To: to, Amount: 460_900_000, Bounce: bounce, Body: body})
	if err != nil || signed.Hash != goldenHash {
		t.Errorf("%+v %v", signed, err)
	}
	if hash, err := BodyHash(body); err != nil || hash != goldenBody {
		t.Errorf("body hash %s %v", hash, err)
	}
}

func TestSignIsDeterministic(t *testing.T) {
	t.Parallel()
	w := testWallet(t)
	to, _, _ := ParseAddress("0:" + strings.Repeat("ab", 32))
	until := time.Unix(1_900_000_001, 0)
	payment := Payment{To: to, Amount: money.TON}
	first, err := w.Sign(3, until, payment)
	if err != nil {
		t.Fatal(err)
	}

	again, err := w.Sign(3, until, payment)
	if err != nil || !bytes.Equal(first.BoC, again.BoC) || first.Hash != again.Hash {
		t.Errorf("signed twice, and got two orders (%v)", err)
	}

	root, err := cell.FromBOC(first.BoC)
	if err != nil {
		t.Fatal(err)
	}

	var message tlb.ExternalMessage
	if err := tlb.Parse(&message, root); err != nil {
		t.Fatal(err)
	}
	if got := validUntil(t, message.Body); !got.Equal(until) || !first.ValidUntil.Equal(until) {
		t.Errorf("valid until %v, want %v", got, until)
	}

	for name, other := range map[string]func() (Signed, error){
		"seqno":  func() (Signed, error) { return w.Sign(4, until, payment) },
		"time":   func() (Signed, error) { return w.Sign(3, until.Add(time.Second), payment) },
		"bounce": func() (Signed, error) { return w.Sign(3, until, Payment{To: to, Amount: money.TON, Bounce: true}) },
		"amount": func() (Signed, error) { return w.Sign(3, until, Payment{To: to, Amount: money.TON + 1}) },
	} {
		if signed, err := other(); err != nil || signed.Hash == first.Hash {
			t.Errorf("another %s: the same hash (%v)", name, err)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	w := testWallet(t)
	to, _, _ := ParseAddress("0:" + strings.Repeat("ab", 32))
	until := time.Unix(1_900_000_000, 0)

	for name, c := range map[string]struct {
		until   time.Time
		payment Payment
	}{
		"no receiver":    {until, Payment{Amount: 1}},
		"no amount":      {until, Payment{To: to}},
		"negative":       {until, Payment{To: to, Amount: -1}},
		"no body":        {until, Payment{To: to, Amount: 1, Body: []byte("text")}},
		"no time":        {time.Time{}, Payment{To: to, Amount: 1}},
		"half a second":  {until.Add(time.Second / 2), Payment{To: to, Amount: 1}},
		"next century":   {time.Unix(1<<32, 0), Payment{To: to, Amount: 1}},
		"before the era": {time.Unix(-1, 0), Payment{To: to, Amount: 1}},
		"the first time": {time.Unix(0, 0), Payment{To: to, Amount: 1}},
	} {
		if _, err := w.Sign(1, c.until, c.payment); err == nil {
			t.Errorf("%s: signed", name)
		}
	}

	for _, seconds := range []int64{1, math.MaxUint32} {
		if _, err := w.Sign(1, time.Unix(seconds, 0), Payment{To: to, Amount: 1}); err != nil {
			t.Errorf("valid until %d: %v", seconds, err)
		}
	}

	if _, err := NewWallet(Key{}, Mainnet); err == nil {
		t.Error("a wallet without a key")
	}
	if _, err := NewWallet(w.key, 0); err == nil {
		t.Error("a wallet without a network")
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	words := strings.Fields(goldenWords)
	seed, err := hex.DecodeString(goldenSeed)
	if err != nil {
		t.Fatal(err)
	}

	private := ed25519.NewKeyFromSeed(seed)
	for name, text := range map[string]string{
		"words": strings.Join(words, " "), "lines": " " + strings.ToUpper(strings.Join(words, "\n")) + "\n",
		"seed": hex.EncodeToString(private.Seed()), "key": hex.EncodeToString(private) + "\n",
	} {
		if key, err := ParseKey(text); err != nil || !key.private().Equal(private) {
			t.Errorf("%s: %v", name, err)
		}
	}

	swapped := append([]string{words[1], words[0]}, words[2:]...)
	for name, text := range map[string]string{
		"empty": "", "23 words": strings.Join(words[1:], " "), "other order": strings.Join(append(swapped, "zoo")[1:], " "),
		"no word": "xyzzy " + strings.Join(words[1:], " "), "short": "abcd", "no hex": strings.Repeat("g", 64),
		"halves": hex.EncodeToString(private.Seed()) + strings.Repeat("00", 32), "33 bytes": strings.Repeat("ab", 33),
	} {
		_, err := ParseKey(text)
		if err == nil {
			t.Errorf("%s: passes", name)
			continue
		}
		for word := range strings.FieldsSeq(text) {
			if len(word) > 3 && strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error shows a word: %v", name, err)
			}
		}
	}
}

func TestReadKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	wide := strings.Join(strings.Split(seed, ""), "\x00") + "\x00"
	for written, isKey := range map[string]bool{
		"\ufeff" + seed + "\r\n": true, "\xff\xfe" + wide: true, wide: false, "\xff" + seed: false, seed + "\n": true,
	} {
		if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}

		key, err := ReadKey(path)
		if (err == nil) != isKey || isKey && hex.EncodeToString(key.private().Seed()) != seed || err != nil && strings.Contains(err.Error(), seed) {
			t.Errorf("%q: %v", written, err)
		}
	}

	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o620, 0o601} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(path); err == nil {
			t.Errorf("%o passes", mode)
		}
	}

	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(dir); !errors.Is(err, errKeyFile) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := ReadKey(filepath.Join(dir, "none")); err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestPrivateFiles checks which files are accepted: readable by the owner only, or given by an engine to one container.
func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path string
		mode fs.FileMode
		want bool
	}{
		{"/home/key", 0o400, true},
		{"/home/key", 0o444, false},
		{"/home/key", 0o600 | fs.ModeNamedPipe, false},
		{"/run/secrets/ton_key", 0o444, true},
		{"/run/secrets/ton_key", 0o400, true},
		{"/run/secrets/ton_key", 0o666, false},
		{"/run/secrets/ton_key", 0o444 | fs.ModeNamedPipe, false},
		{"/run/secrets/../key", 0o444, false},
		{"/home/run/secrets/key", 0o444, false},
		{"/run/credentials/stagecoach-payments.service/key", 0o440, true},
		{"/run/credentials/../key", 0o440, false},
	} {
		if got := isPrivate(test.path, test.mode); got != test.want {
			t.Errorf("%s with %v: %t", test.path, test.mode, got)
		}
	}
}

func TestKeyHidesItself(t *testing.T) {
	t.Parallel()
	w := testWallet(t)
	var log bytes.Buffer
	for _, logger := range []*slog.Logger{slog.New(slog.NewTextHandler(&log, nil)), slog.New(slog.NewJSONHandler(&log, nil))} {
		logger.Info("x", "key", w.key, "wallet", w, "both", struct {
			K Key
			w *Wallet
		}{w.key, w})
	}

	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{w.key, &w.key, w, *w, []Key{w.key}, map[string]Key{"a": w.key}, struct{ key Key }{w.key}} {
			fmt.Fprintf(&log, verb+"\n", value)
		}
	}

	data, err := json.Marshal(map[string]any{"key": w.key, "wallet": w})
	if err != nil {
		t.Fatal(err)
	}

	log.Write(data)
	raw, _ := hex.DecodeString(seed)
	for _, shown := range []string{seed[:16], fmt.Sprint(raw)[1:20], fmt.Sprintf("%#v", raw[:4])[8:30], string(raw[:8]), "^^^^"} {
		if strings.Contains(strings.ToLower(log.String()), strings.ToLower(shown)) {
			t.Errorf("the key shows as %q", shown)
		}
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	const raw = "0:bd6d665ddbd7e88a9c8f3865a554d542433a46023be2d6b19617b11b35c4950a"
	for text, bounceable := range map[string]bool{
		"EQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVClpA": true,
		"UQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVCgeF": false,
		raw: false, strings.ToUpper(raw): false,
	} {
		a, got, err := ParseAddress(text)
		if err != nil || got != bounceable || a.Raw() != raw {
			t.Errorf("%s: %s %t %v", text, a.Raw(), got, err)
		}
		if back, _, err := ParseAddress(a.Friendly(true)); err != nil || back != a || a.Friendly(false)[0] != 'U' || a.Friendly(true)[0] != 'E' {
			t.Errorf("%s: %s %v", text, a.Friendly(true), err)
		}
	}

	for _, text := range []string{
		"", ":", "0:", "0:bd6d", "x:" + strings.Repeat("ab", 32), "300:" + strings.Repeat("ab", 32),
		"EQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVClpB",
		"EQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVClp", "durov",
	} {
		if _, _, err := ParseAddress(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}
