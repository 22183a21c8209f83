package telegram

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"strings"
	"sync"
	"unicode"

	"github.com/mymmrac/telego/telegoapi"
)

// copyBuffer is the size of one write to the socket: large enough that system calls do not matter.
const copyBuffer = 256 << 10

// sendBuffer bounds what the kernel holds of an upload. Bytes in it count as sent before they are. With a small buffer
// the progress is right, and a connection that breaks in mid-body is noticed before the last bytes are sent.
const sendBuffer = 512 << 10

// Upload is a file to send: its bytes, its name, and how many there are.
type Upload interface {
	telegoapi.NamedReader
	Size() int64
}

// constructor builds multipart bodies that are pulled straight from the upload, with no pipe or goroutine between, and
// whose length is known beforehand.
type constructor struct{ telegoapi.DefaultConstructor }

// MultipartRequest implements telegoapi.RequestConstructor for requests with one file.
func (constructor) MultipartRequest(
	fields map[string]string, files map[string]telegoapi.NamedReader,
) (*telegoapi.RequestData, error) {
	var frame bytes.Buffer
	form := multipart.NewWriter(&frame)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			return nil, err
		}
	}

	var upload Upload
	for name, file := range files {
		sized, ok := file.(Upload)
		if !ok || upload != nil {
			return nil, errors.New("a request carries one file of known size")
		}
		upload = sized
		if _, err := form.CreateFormFile(name, printable(upload.Name())); err != nil {
			return nil, err
		}
	}

	head := bytes.Clone(frame.Bytes())
	frame.Reset()
	if err := form.Close(); err != nil {
		return nil, err
	}

	size := int64(len(head)) + upload.Size() + int64(frame.Len())
	return &telegoapi.RequestData{
		ContentType: form.FormDataContentType(),
		BodyStream:  sizedBody{io.MultiReader(bytes.NewReader(head), upload, &frame), size},
	}, nil
}

// printable replaces what a header line cannot hold.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
}

type sizedBody struct {
	io.Reader
	size int64
}

// Size is the length of the complete body in bytes.
func (b sizedBody) Size() int64 { return b.size }

// wideConn copies request bodies to the socket in large pieces; net/http asks for ReadFrom once headers are out.
type wideConn struct{ net.Conn }

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// ReadFrom implements io.ReaderFrom.
func (c wideConn) ReadFrom(r io.Reader) (int64, error) {
	buffer := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, struct{ io.Reader }{r}, buffer[:])
}
