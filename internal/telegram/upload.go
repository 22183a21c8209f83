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

// copyBuffer is the size of one write to the socket: large enough to make system calls negligible.
const copyBuffer = 256 << 10

// sendBuffer bounds how much of an upload the kernel buffers. Bytes in it count as sent before they are. With a small
// buffer the progress is right, and a connection that breaks mid-body is noticed before the last bytes are sent.
const sendBuffer = 512 << 10

// Upload is a file to send: its bytes, name and size.
type Upload interface {
	telegoapi.NamedReader
	Size() int64
}

// constructor builds multipart bodies of known length that are pulled straight from the upload, without a pipe or
// goroutine in between.
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
		fileName := strings.Map(func(r rune) rune { // a header line must not contain control characters
			if unicode.IsControl(r) {
				return '_'
			}
			return r
		}, upload.Name())
		if _, err := form.CreateFormFile(name, fileName); err != nil {
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

type sizedBody struct {
	io.Reader
	size int64
}

// Size is the length of the complete body in bytes.
func (b sizedBody) Size() int64 { return b.size }

// wideConn copies request bodies to the socket in large pieces; net/http calls ReadFrom once headers are sent.
type wideConn struct{ net.Conn }

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// ReadFrom implements io.ReaderFrom.
func (c wideConn) ReadFrom(r io.Reader) (int64, error) {
	buffer := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, struct{ io.Reader }{r}, buffer[:])
}
