package main

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// answer is what an upstream answers with: a head and a JSON body of a fixed size. A noisy one has an id and a time of its
// own in each answer, at fixed places near the body's beginning; what follows is always the same.
type answer struct {
	bytes []byte // head and body
	body  int    // where the body begins
	noisy bool
	id    int // where the id is, and
	time  int // the time
}

const (
	idDigits   = 16
	timeLayout = "2006-01-02T15:04:05.000000Z"
	noiseEnd   = `","total":` // after it all answers of one total are equal
)

// newAnswer builds what a role answers in a mode, with a body of size bytes.
func newAnswer(size int, role, mode string) *answer {
	body := make([]byte, 0, size)
	body = append(body, `{"id":"`...)
	id := len(body)
	body = append(body, bytes.Repeat([]byte{'0'}, idDigits)...)
	body = append(body, `","generated_at":"`...)
	at := len(body)
	body = append(body, timeLayout...)
	body = append(body, noiseEnd+totalOf(role, mode)+`,"items":[`...)
	for n := 1; ; n++ {
		item := fmt.Sprintf(`{"sku":"sku-%04d","name":"Oak table no. %d","price":%d.50,"stock":%d,"tags":["oak","new"]},`, n, n, n*13, n*7%50)
		if len(body)+len(item)+len(`{"pad":""}]}`) > size {
			break
		}
		body = append(body, item...)
	}
	body = append(body, `{"pad":"`...)
	body = append(body, bytes.Repeat([]byte{'.'}, max(0, size-len(body)-len(`"}]}`)))...)
	body = append(body, `"}]}`...)
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 10:00:00 GMT\r\nContent-Type: application/json\r\n"+
		"Cache-Control: max-age=60\r\nVary: Accept-Encoding\r\nContent-Length: %d\r\n\r\n", len(body))
	return &answer{bytes: append([]byte(head), body...), body: len(head), noisy: mode == noisy, id: len(head) + id, time: len(head) + at}
}

// next returns the bytes of the next answer, which hold until the one after it. Only one goroutine may ask.
func (a *answer) next(number uint64, now time.Time) []byte {
	if a.noisy {
		digits := a.bytes[a.id : a.id+idDigits]
		for i := range digits {
			digits[idDigits-1-i] = byte('0' + number%10)
			number /= 10
		}
		now.UTC().AppendFormat(a.bytes[a.time:a.time:a.time+len(timeLayout)], timeLayout)
	}
	return a.bytes
}

// check tells whether a body is one of this answer's, whatever its noise.
func (a *answer) check(body []byte) bool {
	want := a.bytes[a.body:]
	if len(body) != len(want) {
		return false
	}
	from := 0
	if a.noisy {
		from = a.time - a.body + len(timeLayout)
	}
	return bytes.Equal(body[from:], want[from:])
}

// request is what a client asks; the product's number changes from request to request.
type request struct {
	bytes []byte
	id    int // where the number is
}

func newRequest(host string) *request {
	const path = "GET /products/"
	text := path + "0000?currency=eur HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: bench/1.0\r\nAccept: application/json\r\n" +
		"Accept-Encoding: gzip\r\nAccept-Language: en\r\n\r\n"
	return &request{bytes: []byte(text), id: len(path)}
}

func (r *request) next(number int) []byte {
	number = 1000 + number%9000
	strconv.AppendInt(r.bytes[r.id:r.id:r.id+4], int64(number), 10)
	return r.bytes
}

// totalOf is what a role's answers hold: the candidate has a fault, but where answers are to be equal.
func totalOf(role, mode string) string {
	if role == "candidate" && mode == noisy {
		return "129.51"
	}
	return "129.50"
}
