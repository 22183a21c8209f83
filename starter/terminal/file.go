package terminal

import (
	"io"
	"os"

	"stagecoach/internal/textfile"
)

// ReadText reads a text file as UTF-8; "-" is standard input.
func ReadText(name string) ([]byte, error) {
	read, shown := func() ([]byte, error) { return os.ReadFile(name) }, name
	if name == "-" {
		read, shown = func() ([]byte, error) { return io.ReadAll(os.Stdin) }, "standard input"
	}

	data, err := read()
	if err != nil {
		return nil, UsageError(err.Error())
	}
	text, err := textfile.Decode(data)
	if err != nil {
		return nil, UsageError(shown + " " + err.Error())
	}
	return text, nil
}
