package multicast

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
)

// A WebSocket over HTTP/2 (RFC 8441) is not offered, and a client that asks for one all the same is refused on its stream.
func TestExtendedConnectIsRefused(t *testing.T) {
	s := newStage(t, nil, nil)
	w := s.dial()
	var header strings.Builder
	for _, field := range [][2]string{
		{":method", "CONNECT"}, {":protocol", "websocket"}, {":scheme", "http"}, {":path", "/ws"}, {":authority", "a"},
	} {
		header.WriteByte(0) // a literal, never indexed
		for _, text := range field {
			header.WriteByte(byte(len(text)))
			header.WriteString(text)
		}
	}
	const settings, headers, reset = 4, 1, 3
	w.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings, 0, 0, "") + frame(headers, 4, 1, header.String()))
	for {
		head := w.read(9)
		payload := w.read(int(binary.BigEndian.Uint32([]byte("\x00" + head[:3]))))
		switch stream := binary.BigEndian.Uint32([]byte(head[5:])); {
		case head[3] == settings:
			for ; len(payload) >= 6; payload = payload[6:] {
				if binary.BigEndian.Uint16([]byte(payload)) == 8 && payload[5] != 0 {
					t.Error("extended CONNECT is offered")
				}
			}
			continue
		case stream == 0:
			continue
		case stream != 1 || head[3] != reset:
			t.Errorf("there came a frame of type %d on stream %d: %q", head[3], stream, payload)
		}
		break
	}
	if asked := s.upstream[Primary].requests(); len(asked) > 0 {
		t.Errorf("the primary was asked %v", asked)
	}
	_, _ = io.WriteString(w, frame(7, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x00")) // goodbye
}

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	return string(binary.BigEndian.AppendUint32(append(head, kind, flags), stream)) + payload
}
