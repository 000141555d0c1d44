package multicast

import (
	"errors"
	"io"
	"net/http"
)

// bodiless is the body of an answer over HTTP/2 that can have none, as 304: what it says of the answer that it stands for is no
// length of its own, but net/http misses that many bytes in it.
type bodiless struct{ io.ReadCloser }

var errBody = errors.New("a body where there can be none")

// withoutBody has such an answer be as over HTTP/1, where it ends with its head. Trailers may follow.
func withoutBody(res *http.Response) {
	if res.ProtoMajor == 2 && !bodied(http.MethodGet, res.StatusCode) && res.Body != http.NoBody {
		res.Body, res.ContentLength = bodiless{res.Body}, 0
	}
}

func (b bodiless) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case n > 0:
		return 0, errBody
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, io.EOF
	}
	return 0, err
}
