package telegramsim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"

	"stagecoach/dev/sim"
)

const maxParameters = 4 << 20 // limit of all non-file parameters of a call, in bytes

// errTooLarge is a body or a document over the limit.
var errTooLarge = errors.New("request entity too large")

// call is one call of a Bot API method, in any encoding.
type call struct {
	ctx    context.Context
	params map[string]string // a JSON value that is not a string is kept as JSON
	files  map[string]upload // by part name
}

// readCall reads the parameters of a call and stores its files. The call is valid even if err is not nil, so that its
// files can be removed.
func (t *Server) readCall(r *http.Request) (*call, error) {
	c := &call{ctx: r.Context(), params: map[string]string{}, files: map[string]upload{}}
	query := r.URL.Query()
	for name := range query {
		c.params[name] = query.Get(name)
	}

	kind, options, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "multipart/form-data":
		return c, t.readMultipart(c, r.Body, options["boundary"])
	case "application/json":
		body, err := readLimited(r.Body, maxParameters)
		if err != nil {
			return c, err
		}
		return c, c.setJSON(body)
	}

	return c, nil
}

func (t *Server) readMultipart(c *call, body io.Reader, boundary string) error {
	parts := multipart.NewReader(bufio.NewReaderSize(body, sim.BufferSize), boundary)
	for left := int64(maxParameters); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return badRequest("can't read the multipart body")
		}
		if part.FileName() == "" {
			value, err := readLimited(part, left)
			if err != nil {
				return err
			}
			left -= int64(len(value))
			c.params[part.FormName()] = string(value)
			continue
		}

		file, err := t.takeIn(part)
		if err != nil {
			return err
		}

		file.name = part.FileName()
		c.files[part.FormName()] = file
	}
}

// readLimited reads all of r, which must end properly and within limit bytes.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, badRequest("the body ended too early")
	case int64(len(data)) > limit:
		return nil, errTooLarge
	}
	return data, nil
}

func (c *call) setJSON(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}

	var values map[string]json.RawMessage
	if err := json.Unmarshal(body, &values); err != nil {
		return badRequest("can't parse request body as a JSON object")
	}

	for name, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			c.params[name] = text
		} else {
			c.params[name] = string(raw)
		}
	}

	return nil
}

// number returns an integer parameter, or 0 if it is missing or not a number.
func (c *call) number(name string) int64 {
	n, _ := strconv.ParseInt(c.params[name], 10, 64)
	return n
}

// buttons returns the call's inline keyboard; other reply markups count as none.
func (c *call) buttons() ([][]Button, error) {
	raw := c.params["reply_markup"]
	if raw == "" || raw == "null" {
		return nil, nil
	}

	var markup wireKeyboard
	if err := json.Unmarshal([]byte(raw), &markup); err != nil {
		return nil, badRequest("object expected as reply markup")
	}

	var rows [][]Button
	for _, wireRow := range markup.Rows {
		var row []Button
		for _, b := range wireRow {
			switch {
			case b.Text == "":
				return nil, badRequest("can't parse inline keyboard button: text is missing")
			case b.Data == "" && b.URL == "":
				return nil, badRequest("text buttons are unallowed in the inline keyboard")
			case len(b.Data) > 64:
				return nil, badRequest("BUTTON_DATA_INVALID")
			}
			row = append(row, Button(b))
		}

		if len(row) > 0 {
			rows = append(rows, row)
		}
	}

	return rows, nil
}

// dropFiles removes the call's files that no message has taken.
func (c *call) dropFiles() {
	for file := range maps.Values(c.files) {
		file.drop()
	}
}
