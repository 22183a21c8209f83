package transactions

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// quiet is the empty border around a QR code that scanners need, in modules.
const quiet = 4

// code is a QR code as one SVG path, in modules.
type code struct {
	Side int // including the border
	Path string
}

// codeOf draws a text. The path consists of rectangles: each row's black runs.
func codeOf(text string) (*code, error) {
	encoded, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, err
	}

	var path strings.Builder
	for y := range encoded.Size {
		for x := 0; x < encoded.Size; x++ {
			begin := x
			for encoded.Black(x, y) {
				x++
			}
			if x > begin {
				fmt.Fprintf(&path, "M%d %dh%dv1H%dz", begin+quiet, y+quiet, x-begin, begin+quiet)
			}
		}
	}

	return &code{Side: encoded.Size + 2*quiet, Path: path.String()}, nil
}
