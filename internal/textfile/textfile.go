// Package textfile decodes text files written by people, in the encodings of their systems.
package textfile

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

var errEncoding = errors.New("is neither UTF-8 nor UTF-16 with a byte order mark: save it as UTF-8")

// Decode returns a text as UTF-8 without a byte order mark. It reads UTF-8, and UTF-16 with a byte order mark, which
// PowerShell writes. Its error continues a sentence about the file, and quotes nothing from it.
func Decode(data []byte) ([]byte, error) {
	text, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), data)
	isDamaged := !utf8.Valid(data) && bytes.ContainsRune(text, utf8.RuneError)
	isBinary := bytes.IndexByte(text, 0) >= 0 // also UTF-16 without a mark
	if err != nil || isDamaged || isBinary {
		return nil, errEncoding
	}
	return text, nil
}
