package testdb

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
)

// Trips counts the round trips of connections to a database.
type Trips struct {
	URL   string // of the database, through the counter
	count atomic.Int64
}

// CountTrips counts the round trips of clients that connect to a database through the counter's URL.
func CountTrips(t testing.TB, database string) *Trips {
	t.Helper()
	target, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })

	server := target.Host
	target.Host = listener.Addr().String()
	trips := &Trips{URL: target.String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go trips.forward(client, server)
		}
	}()
	return trips
}

// Count returns the number of round trips so far. Those that only open a connection, check whether one still works, or
// prepare a statement do not count: how often they happen depends on how many connections the load opens.
func (c *Trips) Count() int { return int(c.count.Load()) }

// Messages of PostgreSQL's protocol, version 3.
const (
	messageHeader   = 1 + 4 // its kind, and its length without the kind
	commandComplete = 'C'   // a statement was executed
	errorResponse   = 'E'
	readyForQuery   = 'Z' // ends every response
)

// forward passes on what both sides send, and counts the responses.
func (c *Trips) forward(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()

	answers, executed := bufio.NewReader(server), false
	for {
		header, err := answers.Peek(messageHeader)
		if err != nil {
			return
		}

		switch header[0] {
		case commandComplete, errorResponse:
			executed = true
		case readyForQuery:
			if executed {
				c.count.Add(1)
			}
			executed = false
		}

		length := 1 + int64(binary.BigEndian.Uint32(header[1:]))
		if _, err := io.CopyN(client, answers, length); err != nil {
			return
		}
	}
}
