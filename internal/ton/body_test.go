package ton

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/xssnick/tonutils-go/tvm/cell"
)

func TestComment(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "durov", "@durov 50", strings.Repeat("ж", 1000), "10000 Telegram Stars \n\nRef#abc"} {
		body, err := CommentBody(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Comment(body); !ok || got != text {
			t.Errorf("%q reads as %q, %t", text, got, ok)
		}
	}

	begin := func() *cell.Builder { return cell.BeginCell().MustStoreUInt(0, 32) }
	text := func(b *cell.Builder, s string) *cell.Builder { return b.MustStoreSlice([]byte(s), uint(len(s))*8) }
	rest := text(cell.BeginCell(), "rov").EndCell()

	// A letter may span two cells.
	if got, ok := Comment(text(begin(), "\xd0").MustStoreRef(text(cell.BeginCell(), "\xb6").EndCell()).EndCell().ToBOC()); !ok || got != "ж" {
		t.Errorf("%q %t", got, ok)
	}
	if got, ok := Comment(text(begin(), "a\x00b\xffc").EndCell().ToBOC()); !ok || got != "a\ufffdb\ufffdc" {
		t.Errorf("%q %t", got, ok)
	}

	long := cell.BeginCell().EndCell()
	for range 200 {
		long = text(cell.BeginCell(), strings.Repeat("x", 127)).MustStoreRef(long).EndCell()
	}

	for name, body := range map[string][]byte{
		"nothing": nil, "no cells": []byte("durov"), "short": cell.BeginCell().MustStoreUInt(0, 31).EndCell().ToBOC(),
		"opcode":     cell.BeginCell().MustStoreUInt(0x7362d09c, 32).EndCell().ToBOC(),
		"encrypted":  text(cell.BeginCell().MustStoreUInt(0x2167da4b, 32), "du").EndCell().ToBOC(),
		"half bytes": begin().MustStoreUInt(1, 4).EndCell().ToBOC(),
		"a tree":     text(begin(), "du").MustStoreRef(rest).MustStoreRef(rest).EndCell().ToBOC(),
		"too long":   begin().MustStoreRef(long).EndCell().ToBOC(),
	} {
		if got, ok := Comment(body); ok {
			t.Errorf("%s: reads as %q", name, got)
		}
	}
}

func TestCommentLength(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]bool{maxComment: true, maxComment + 1: false} {
		body, err := CommentBody(strings.Repeat("x", size))
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := Comment(body); ok != want || ok && len(text) != size {
			t.Errorf("%d bytes: %d, %t", size, len(text), ok)
		}
	}
}

func TestOpcode(t *testing.T) {
	t.Parallel()
	comment, err := CommentBody("durov")
	if err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		body []byte
		want uint32
		ok   bool
	}{
		"a comment":  {comment, 0, true},
		"a transfer": {cell.BeginCell().MustStoreUInt(0x7362d09c, 32).MustStoreUInt(7, 64).EndCell().ToBOC(), 0x7362d09c, true},
		"no body":    {nil, 0, false},
		"31 bits":    {cell.BeginCell().MustStoreUInt(1, 31).EndCell().ToBOC(), 0, false},
		"no cells":   {[]byte("durov"), 0, false},
	} {
		if got, ok := Opcode(c.body); got != c.want || ok != c.ok {
			t.Errorf("%s: %x, %t", name, got, ok)
		}
	}
}

func FuzzComment(f *testing.F) {
	for _, text := range []string{"", "durov 50", strings.Repeat("long ", 100)} {
		body, err := CommentBody(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}

	f.Add(cell.BeginCell().MustStoreUInt(0, 32).MustStoreRef(cell.BeginCell().EndCell()).EndCell().ToBOC())
	f.Fuzz(func(t *testing.T, body []byte) {
		text, ok := Comment(body)
		if !ok {
			return
		}
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || len(text) > 3*maxComment {
			t.Errorf("%q is no text", text)
		}

		again, err := CommentBody(text)
		if err != nil {
			t.Fatal(err)
		}
		if back, ok := Comment(again); !ok || back != text && len(text) <= maxComment {
			t.Errorf("%q reads as %q after a round", text, back)
		}
	})
}
