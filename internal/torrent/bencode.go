package torrent

import (
	"errors"
	"math"
)

// maxDepth bounds the nesting of lists and dictionaries: libtorrent's own limit.
const maxDepth = 100

var (
	errCut   = errors.New("it ends too early")
	errForm  = errors.New("it is not bencoded")
	errDepth = errors.New("it is nested too deeply")
)

// reader reads bencoded data in place and builds nothing, so that it needs no memory besides the file, whatever the
// file describes.
type reader struct {
	data  []byte
	at    int
	depth int
}

// next returns the next byte without consuming it.
func (r *reader) next() (byte, error) {
	if r.at >= len(r.data) {
		return 0, errCut
	}
	return r.data[r.at], nil
}

// digits consumes a number without a sign up to its end mark.
func (r *reader) digits(end byte) (n int64, err error) {
	for first := r.at; ; r.at++ {
		c, err := r.next()
		switch {
		case err != nil:
			return 0, err
		case c == end && r.at > first:
			r.at++
			return n, nil
		case c < '0' || c > '9' || n > (math.MaxInt64-9)/10:
			return 0, errForm
		}

		n = 10*n + int64(c-'0')
	}
}

// integer consumes an integer.
func (r *reader) integer() (n int64, err error) {
	if c, err := r.next(); err != nil || c != 'i' {
		return 0, errors.Join(errForm, err)
	}

	r.at++
	c, err := r.next()
	if err != nil {
		return 0, err
	}
	if c != '-' {
		return r.digits('e')
	}

	r.at++
	n, err = r.digits('e')
	return -n, err
}

// text consumes a string, and returns it as a slice of the file.
func (r *reader) text() ([]byte, error) {
	length, err := r.digits(':')
	if err != nil {
		return nil, err
	}
	if length > int64(len(r.data)-r.at) {
		return nil, errCut
	}
	r.at += int(length)
	return r.data[r.at-int(length) : r.at], nil
}

// list consumes a list; each consumes an element.
func (r *reader) list(each func() error) error { return r.within('l', each) }

// dictionary consumes a dictionary; each consumes the value of a key.
func (r *reader) dictionary(each func(key []byte) error) error {
	return r.within('d', func() error {
		key, err := r.text()
		if err != nil {
			return err
		}
		return each(key)
	})
}

func (r *reader) within(begin byte, each func() error) error {
	if c, err := r.next(); err != nil || c != begin {
		return errors.Join(errForm, err)
	}
	if r.depth++; r.depth > maxDepth {
		return errDepth
	}

	r.at++
	for {
		c, err := r.next()
		if err != nil {
			return err
		}
		if c == 'e' {
			r.at++
			r.depth--
			return nil
		}

		if err := each(); err != nil {
			return err
		}
	}
}

// skip consumes a value of any kind.
func (r *reader) skip() error {
	c, err := r.next()
	if err != nil {
		return err
	}

	switch c {
	case 'i':
		_, err = r.integer()
	case 'l':
		err = r.list(r.skip)
	case 'd':
		err = r.dictionary(func([]byte) error { return r.skip() })
	default:
		_, err = r.text()
	}

	return err
}
