package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// encodings encode a text as editors and shells do.
var encodings = map[string]func(string) string{
	"UTF-8": func(s string) string { return s }, "with a mark": func(s string) string { return "\ufeff" + s },
	"with CRLF":            func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"with a mark and CRLF": func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") },
	"UTF-16 little endian": func(s string) string { return inUTF16("\ufeff"+strings.ReplaceAll(s, "\n", "\r\n"), 0) },
	"UTF-16 big endian":    func(s string) string { return inUTF16("\ufeff"+s, 1) },
}

// inUTF16 encodes a text as UTF-16; low is the index of the low byte.
func inUTF16(s string, low int) string {
	var text []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		two := []byte{0, 0}
		two[low], two[1-low] = byte(unit), byte(unit>>8)
		text = append(text, two...)
	}
	return string(text)
}

// TestFilesInAnyEncoding reads every file that a command takes, in any encoding of a person's editor or shell.
func TestFilesInAnyEncoding(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "backup.key")
	code, public, errs := starter(t, "backup-key", key)
	if code != 0 {
		t.Fatal(errs)
	}
	made, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	secret := "# a comment\n" + string(made)

	api := newFakeAPI(t, map[string][]string{
		"POST /v1/tasks/batch":        {`201 {"items":[]}`},
		"POST /v1/tasks/12/submit":    {"200 " + taskIn("IN_PROGRESS")},
		"POST /v1/payments/reconcile": {"200 " + reconciled("true", "")},
	})

	commands := []struct {
		line string // FILE is replaced by the file
		text string
		body string // what is sent; empty: the command calls no API, and must accept the file
		no   string // the complaint about the file
	}{
		{"task batch --workspace 2 FILE", "[\n{\"title\":\"Щётка 😀\"}]\n", `{"tasks":[{"title":"Щётка 😀"}],"workspace_id":"2"}`, ""},
		{"task submit 12 FILE it passes", "{\"note\":\n\"Щётка\"}\n", `{"comment":"it passes","result":{"note":"Щётка"}}`, ""},
		{"tx reconcile --purchases FILE", "{\"items\":[\n{\"payment_hash\":\"cd\",\"stars\":50,\"paid_nano\":1}]}\n", `{"purchases":[{"payment_hash":"cd","stars":50,"paid_nano":1}]}`, ""},
		{"backup x --to FILE", "# a comment\n" + public, "", "--to"},
		{"restore x --check --identity FILE", secret, "", "--identity"},
	}

	for name, encode := range encodings {
		for _, c := range commands {
			file := filepath.Join(t.TempDir(), "file")
			writeFile(t, file, []byte(encode(c.text)))
			args := strings.Fields(strings.Replace(c.line, "FILE", file, 1))
			if c.body == "" {
				if _, _, errs := starter(t, args...); strings.Contains(errs, c.no) || errs == "" {
					t.Errorf("%s, %s: %s", c.line, name, errs)
				}
				continue
			}

			code, _, errs := api.starter(t, args...)
			if code != 0 || api.asked[len(api.asked)-1].body != c.body {
				t.Errorf("%s, %s: exit code %d, asked %+v, errors %q", c.line, name, code, api.asked, errs)
			}
		}
	}

	for name, wrong := range map[string]string{
		"UTF-16 without a mark": inUTF16("[]", 0), "the other UTF-16": inUTF16("[]", 1), "UTF-32": "\xff\xfe\x00\x00[\x00\x00\x00",
		"no UTF-8": "[\"\xb8\"]", "no UTF-8 after a mark": "\ufeff[\"\xb8\"]", "half of UTF-16": "\xff\xfe[",
	} {
		for _, c := range commands {
			file := filepath.Join(t.TempDir(), "what-is-wrong")
			writeFile(t, file, []byte(wrong))
			args := strings.Fields(strings.Replace(c.line, "FILE", file, 1))
			before := len(api.asked)
			run := api.starter
			if c.body == "" {
				run = starter
			}
			code, _, errs := run(t, args...)
			if code != 2 || !strings.Contains(errs, file+" is neither UTF-8 nor UTF-16") || len(api.asked) != before {
				t.Errorf("%s, %s: exit code %d, errors %q", c.line, name, code, errs)
			}
		}
	}

	more := filepath.Join(t.TempDir(), "more")
	writeFile(t, more, []byte(`[{"title":"a"}] [{"title":"b"}]`))
	if code, _, errs := api.starter(t, "task", "batch", "--workspace", "2", more); code != 2 || !strings.Contains(errs, more+" is not JSON") {
		t.Errorf("a second list: exit code %d, errors %q", code, errs)
	}
}
