package normalize

import (
	"net/http"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// What is named must be gone from a sample, whatever the body is, and from what a difference in it shows.
func TestNamedPlacesAreGoneFromAllKindsOfBody(t *testing.T) {
	const form = "Content-Disposition: form-data; name="
	for _, tc := range []struct{ place, media, body, keeps string }{
		{"body.**.password", "application/xml", `<u><password x="1">s3cret</password><n>kept</n></u>`, "<n>kept</n>"},
		{"body.**.password", "application/xml", `<u password="s3cret" n="kept"/>`, `n="kept"`},
		{"body.u.@password", "application/xml", `<u password="s3cret" n="kept"/>`, `n="kept"`},
		{"body.u.password[].#text", "application/xml", `<u><password>s3cret</password>kept</u>`, "kept"},
		{"body.**.@data-token", "text/html; charset=utf-8", `<p id="kept" data-token=s3cret>`, "kept"},
		{"body.**.token", "text/html", `<script>var x = {"token": "s3cret", "n": "kept"}</script>`, "kept"},
		{"body.password", "application/x-www-form-urlencoded", `password=s3cret&n=kept`, "n=kept"},
		{"body.password", "multipart/form-data; boundary=b", "--b\r\n" + form + "\"password\"\r\n\r\ns3cret\r\n--b\r\n" + form + "\"n\"\r\n\r\nkept\r\n--b--", "kept"},
		{"body.password.body", "multipart/form-data; boundary=b", "--b\r\n" + form + "\"password\"\r\n\r\ns3cret\r\n--b\r\n" + form + "\"n\"\r\n\r\nkept\r\n--b--", "kept"},
		{"body.password", "multipart/form-data; boundary=b", "--b\n" + form + "password\n\ns3cret\n--b\n" + form + "n\n\nkept\n--b--", "kept"},
		{"body[].headers.x-token", "multipart/mixed; boundary=b", "--b\r\nX-Token: s3cret\r\n\r\nkept\r\n--b--", "kept"},
		{"body[].body.password", "multipart/mixed; boundary=b", "--b\r\n\r\n{\"password\":\"s3cret\",\"n\":\"kept\"}\r\n--b--", "kept"},
		{"body.**.password", "multipart/mixed; boundary=b", "--b\r\nContent-Transfer-Encoding: base64\r\n\r\ns3cret==\r\n--b\r\n\r\nkept\r\n--b--", "kept"},
		{"body[].data.password", "text/event-stream", "data: {\"password\":\"s3cret\",\"n\":\"kept\"}\n\n", "kept"},
		{"body[].data.password", "text/event-stream", "data: {\"password\":\ndata: \"s3cret\",\"n\":\"kept\"}\n\n", "kept"},
		{"body[].data", "text/event-stream", "id: kept\ndata: a, s3cret\ndata: s3cret\n\n", "id: kept"},
		{"body[].id", "text/event-stream", "id: s3cret\ndata: kept\n\n", "data: kept"},
		{"body.contraseña", "application/json; charset=iso-8859-1", "{\"contrase\xF1a\":\"s3cret\",\"n\":\"kept\"}", "kept"},
		{"body.**.password", "application/json-seq", "\x1E{\"password\":\"s3cret\"}\n\x1E{\"n\":\"kept\"}\n", "kept"},
	} {
		r := newRedactor(t, tc.place)
		sent := multicast.Response{Status: 200, Header: http.Header{"Content-Type": {tc.media}}, Body: []byte(tc.body)}
		got, n := r.Response(&sent)
		if text := string(got.Body); n == 0 || strings.Contains(text, "s3cret") || !strings.Contains(text, tc.keeps) {
			t.Errorf("%s, %s: %d in %q", tc.place, tc.media, n, text)
		}
		everyText(document(mustNew(t), tc.media, tc.body).Body.Root, FieldBody, func(field Field, text string) {
			if x := r.Excerpt(string(field), `"`+text+`"`, &got); strings.Contains(text, "s3cret") && strings.Contains(x, "s3cret") {
				t.Errorf("%s, %s: a difference at %s shows %s", tc.place, tc.media, field, x)
			} else if text == "kept" && x != `"kept"` {
				t.Errorf("%s, %s: a difference at %s shows %s", tc.place, tc.media, field, x)
			}
		})
	}
}

// everyText hands on all strings of a tree with their fields.
func everyText(v *Value, at Field, do func(Field, string)) {
	switch {
	case v == nil:
	case v.Type == String:
		do(at, v.Text)
	}
	if v == nil {
		return
	}
	for i := range v.Items {
		everyText(&v.Items[i], at.Elements(), do)
	}
	for i := range v.Members {
		everyText(&v.Members[i].Value, at.Key(v.Members[i].Key), do)
	}
}
