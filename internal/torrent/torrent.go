// Package torrent reads magnet links, addresses of .torrent files, and the files themselves. It does no I/O.
package torrent

import (
	"encoding/base32"
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"stagecoach/internal/fault"
)

// MaxLink is the longest magnet link or address, in bytes.
const MaxLink = 8 << 10

// Identity identifies a torrent, in lower-case hex. A hybrid torrent has both hashes; for a magnet link only those it
// contains are known.
type Identity struct {
	V1 string // 40 digits: SHA-1
	V2 string // 64 digits: SHA-256
}

// Source is the source of a torrent.
type Source struct {
	Magnet   bool // otherwise the address of a .torrent file
	Identity      // known for a magnet link
}

// Kind describes the source for people: "magnet" or "torrent".
func (s Source) Kind() string {
	if s.Magnet {
		return "magnet"
	}
	return "torrent"
}

// stray are percent signs that begin no escape, and Unicode's blanks.
var stray = regexp.MustCompile(`%[0-9a-fA-F]{2}|%|\p{Zs}`)

// Tidy escapes what people and indexers leave unescaped in links: blanks and single percent signs. It trims blanks
// around the link, but keeps line breaks in it.
func Tidy(link string) string {
	return stray.ReplaceAllStringFunc(strings.TrimSpace(link), func(found string) string {
		switch {
		case len(found) == 3 && found[0] == '%':
			return found
		case found == "%":
			return "%25"
		default:
			return "%20"
		}
	})
}

// ParseSource reads a magnet link or the http(s) address of a .torrent file; anything else is VALIDATION_ERROR of
// source_url.
func ParseSource(link string) (Source, error) {
	switch {
	case link == "":
		return Source{}, wrong("a magnet link or the address of a .torrent file is required")
	case len(link) > MaxLink:
		return Source{}, wrong("the link is longer than 8 KiB")
	case !utf8.ValidString(link) || strings.ContainsFunc(link, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return Source{}, wrong("the link has characters that no link has") // a line break would split it into two links
	}

	u, err := url.Parse(link)
	if err != nil {
		return Source{}, wrong("the link cannot be read")
	}

	switch strings.ToLower(u.Scheme) {
	case "magnet":
		id, err := magnetIdentity(u)
		return Source{Magnet: true, Identity: id}, err
	case "http", "https":
		if u.Hostname() == "" {
			return Source{}, wrong("the address names no host")
		}
		return Source{}, nil
	default:
		return Source{}, wrong("give a magnet link, or the http or https address of a .torrent file")
	}
}

// Prefixes of the exact topics that identify a torrent.
const (
	topicV1   = "urn:btih:"
	topicV2   = "urn:btmh:"
	multihash = "1220" // a multihash of SHA-256, 32 bytes
)

// magnetIdentity reads a magnet link's exact topics. One that identifies no torrent, or two different ones, is refused.
func magnetIdentity(u *url.URL) (id Identity, err error) {
	query, _ := url.ParseQuery(u.RawQuery) // an incorrectly escaped name does no harm
	for _, topic := range query["xt"] {
		name := strings.ToLower(topic)
		switch {
		case strings.HasPrefix(name, topicV1):
			if err := set(&id.V1, hashV1(topic[len(topicV1):])); err != nil {
				return id, err
			}
		case strings.HasPrefix(name, topicV2):
			if err := set(&id.V2, hashV2(name[len(topicV2):])); err != nil {
				return id, err
			}
		}
	}

	if id == (Identity{}) {
		return id, wrong("the magnet link names no torrent: xt=urn:btih:… or xt=urn:btmh:… is missing")
	}
	return id, nil
}

func set(into *string, hash string) error {
	if hash == "" {
		return wrong("the magnet link's infohash is not one")
	}
	if *into != "" && *into != hash {
		return wrong("the magnet link names two torrents")
	}
	*into = hash
	return nil
}

// hashV1 returns the hex form of an infohash in hex or base32; "" if it is none.
func hashV1(text string) string {
	switch len(text) {
	case 40:
		if _, err := hex.DecodeString(text); err == nil {
			return strings.ToLower(text)
		}
	case 32:
		if raw, err := base32.StdEncoding.DecodeString(strings.ToUpper(text)); err == nil {
			return hex.EncodeToString(raw)
		}
	}

	return ""
}

func hashV2(text string) string {
	digest, isSHA256 := strings.CutPrefix(text, multihash)
	if _, err := hex.DecodeString(digest); err != nil || !isSHA256 || len(digest) != 64 {
		return ""
	}
	return digest
}

func wrong(message string) error {
	return fault.New(fault.Validation, "%s", message).WithField("source_url")
}

// notTorrent keeps the cause for the log: it describes the file's structure, not its content.
func notTorrent(err error) error {
	return fault.New(fault.SourceNotTorrent, "this is not a .torrent file").WithCause(err)
}
