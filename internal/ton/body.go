package ton

import (
	"encoding/hex"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// maxComment bounds a comment's text, in bytes: a chain of cells may be as long as its sender paid for, and a bag of
// cells may reference the same cell repeatedly.
const maxComment = 16 << 10

// Comment returns the text of a text comment, over as many cells as it takes; ok is false if the body is something
// else, or longer than maxComment. Invalid UTF-8, and zero bytes, become U+FFFD.
func Comment(body []byte) (text string, ok bool) {
	root, err := parseBody(body)
	if err != nil {
		return "", false
	}

	s, err := root.BeginParse()
	if err != nil {
		return "", false
	}
	if opcode, err := s.LoadUInt(32); err != nil || opcode != 0 {
		return "", false
	}

	var all []byte
	for {
		// Text consists of full bytes, and continues in the only referenced cell.
		if s.BitsLeft()%8 != 0 || s.RefsNum() > 1 {
			return "", false
		}

		part, err := s.LoadSlice(s.BitsLeft())
		if err != nil {
			return "", false
		}

		all = append(all, part...)
		if len(all) > maxComment {
			return "", false
		}

		if s.RefsNum() == 0 {
			break
		}
		if s, err = s.LoadRef(); err != nil {
			return "", false
		}
	}

	const unknown = string(utf8.RuneError)
	return strings.ReplaceAll(strings.ToValidUTF8(string(all), unknown), "\x00", unknown), true
}

// Opcode returns a body's first four bytes, which identify its kind: 0 for a text comment. ok is false for a shorter
// body.
func Opcode(body []byte) (uint32, bool) {
	root, err := parseBody(body)
	if err != nil {
		return 0, false
	}
	s, err := root.BeginParse()
	if err != nil {
		return 0, false
	}
	opcode, err := s.LoadUInt(32)
	return uint32(opcode), err == nil
}

// CommentBody makes the body of a text comment, as a BoC.
func CommentBody(text string) ([]byte, error) {
	root, err := wallet.CreateCommentCell(text)
	if err != nil {
		return nil, errors.New("this comment does not fit into cells")
	}
	return root.ToBOC(), nil
}

// BodyHash returns the hash of a body's root cell in lower-case hex, as shown by the chain; a missing body has the hash
// of an empty cell.
func BodyHash(body []byte) (string, error) {
	root, err := parseBody(body)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(root.Hash()), nil
}

func parseBody(body []byte) (*cell.Cell, error) {
	if len(body) == 0 {
		return cell.BeginCell().EndCell(), nil
	}
	root, err := cell.FromBOC(body)
	if err != nil {
		return nil, errors.New("this is not a bag of cells")
	}
	return root, nil
}
