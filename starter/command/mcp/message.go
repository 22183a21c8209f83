package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"stagecoach/api/client"
)

const (
	patience   = 90 * time.Second // with one request; the API answers within a minute
	maxAnswer  = 64 << 20         // bytes
	versionKey = "io.modelcontextprotocol/protocolVersion"
)

// message is what the bridge reads of a message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
}

type params struct {
	Name      string                     `json:"name"`
	RequestID json.RawMessage            `json:"requestId"`
	Meta      map[string]json.RawMessage `json:"_meta"`
}

// envelope is what the bridge reads of an answer.
type envelope struct {
	Version string   `json:"jsonrpc"`
	Result  greeting `json:"result"`
}

// greeting is the answer of a handshake.
type greeting struct {
	ProtocolVersion string `json:"protocolVersion"`
}

func parse(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		wrong, _ := errors.AsType[*json.UnmarshalTypeError](err)
		if wrong == nil || bytes.TrimSpace(line)[0] != '{' {
			return m, err
		}
	}

	if string(m.ID) == "null" {
		m.ID = nil
	}
	return m, nil
}

// post sends a message to the API and gives its answer, a message too.
func (b *bridge) post(ctx context.Context, m message, line []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.api.Base+"/mcp", bytes.NewReader(line))
	if err != nil {
		return nil, err
	}

	b.head(request.Header, m)

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, b.api.NoAnswer(err)
	}
	defer response.Body.Close()

	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, b.api.NoAnswer(err)
	case isMessage(answer), response.StatusCode/100 == 2 && len(answer) == 0:
		return answer, nil
	case response.StatusCode/100 == 2:
		return nil, fmt.Errorf("the answer is no message of the protocol: is %s the address of the API?", b.api.Base)
	default:
		return nil, client.RefusalOf(response, answer)
	}
}

// head writes the headers of a message: what intermediaries are to know of it stands there again.
func (b *bridge) head(header http.Header, m message) {
	header.Set("Authorization", "Bearer "+b.api.Token)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")

	var version string
	if json.Unmarshal(m.Params.Meta[versionKey], &version) == nil && version != "" {
		header.Set("Mcp-Method", m.Method)
		if m.Params.Name != "" {
			header.Set("Mcp-Name", m.Params.Name)
		}
	} else {
		b.mu.Lock()
		version = b.version
		b.mu.Unlock()
	}

	if version != "" && m.Method != "initialize" {
		header.Set("Mcp-Protocol-Version", version)
	}
}

// isMessage says whether an answer is a message of the protocol.
func isMessage(answer []byte) bool {
	var m envelope
	err := json.Unmarshal(answer, &m)
	wrong, _ := errors.AsType[*json.UnmarshalTypeError](err) // of a result that is no greeting
	return (err == nil || wrong != nil) && m.Version == "2.0"
}

// failure makes the answer of a request that has failed on its way.
func failure(id json.RawMessage, code int, text string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the id cannot be written"}}`)
	}
	return answer
}
