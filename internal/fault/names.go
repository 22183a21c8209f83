package fault

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// WithoutNames returns err without the file names and URLs in its text, which would reveal who reads what. errors.Is
// and errors.As still find everything that err wraps.
func WithoutNames(err error) error {
	found := false
	eachNamed(err, func(_, _ string) { found = true })
	if !found {
		return err
	}
	return nameless{err}
}

type nameless struct{ error }

// Error returns the error's text with only the operation where the operation and the name stood.
func (n nameless) Error() string {
	text := n.error.Error()
	eachNamed(n.error, func(with, without string) { text = strings.ReplaceAll(text, with, without) })
	return text
}

func (n nameless) Unwrap() error { return n.error }

// IsDiskFull reports whether a disk, or a user's quota on it, is full.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// eachNamed visits the errors in err's tree that name a file or a URL: as they are written, and without the name.
func eachNamed(err error, visit func(with, without string)) {
	switch e := err.(type) {
	case nameless:
	case *fs.PathError:
		visit(e.Error(), e.Op+": "+e.Err.Error())
	case *os.LinkError:
		visit(e.Error(), e.Op+": "+e.Err.Error())
	case *url.Error:
		visit(e.Error(), e.Op+": "+WithoutNames(e.Err).Error())
	case interface{ Unwrap() error }:
		eachNamed(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, wrapped := range e.Unwrap() {
			eachNamed(wrapped, visit)
		}
	}
}
