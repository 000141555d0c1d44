package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"shadowdiff/normalize"
)

// readObject reads a request's body, of at most so many bytes, as one JSON object that has none but the known keys, each
// once. A misspelt key must not look as if it had worked. The example is what to send instead.
func readObject(w http.ResponseWriter, r *http.Request, most int64, example string, known ...string) (map[string]json.RawMessage, error) {
	body, err := readBody(w, r, most)
	if err != nil {
		return nil, err
	}
	return parseObject(body, example, known...)
}

// readBody reads a request's body of at most so many bytes, which must be JSON by its label.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if err := labelledJSON(r.Header); err != nil {
		w.Header().Set("Accept", "application/json")
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuse(http.StatusRequestTimeout, "the body did not come in time")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, refuse(http.StatusBadRequest, "the body ended before its end")
	case err != nil:
		return nil, fmt.Errorf("read the body: %w", err)
	}
	return body, nil
}

// labelledJSON refuses a body that says of itself that it is no JSON. One without a label is taken, and so is the label
// that curl -d gives to everything.
func labelledJSON(h http.Header) error {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "the body is sent with the content coding %q; send it plain", coding)
	}
	label := h.Get("Content-Type")
	if label == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(label)
	is := media == "application/json" || media == "application/x-www-form-urlencoded" ||
		strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
	if err != nil || !is {
		return refuse(http.StatusUnsupportedMediaType, "the body is sent as %q; send JSON, with `Content-Type: application/json`", label)
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return refuse(http.StatusUnsupportedMediaType, "the body is sent in %q; JSON is UTF-8", charset)
	}
	return nil
}

func parseObject(body []byte, example string, known ...string) (map[string]json.RawMessage, error) {
	in := json.NewDecoder(bytes.NewReader(body))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil, refuse(http.StatusBadRequest, "the body is not a JSON object; send %s", example)
	}
	values := map[string]json.RawMessage{}
	for in.More() {
		token, err := in.Token()
		key, _ := token.(string)
		var value json.RawMessage
		if err == nil {
			err = in.Decode(&value)
		}
		if err != nil {
			return nil, notWhole(err, example)
		}
		if !slices.Contains(known, key) {
			return nil, refuse(http.StatusBadRequest, "unknown key %q; %s", key, keyRemedy(key, known))
		}
		if _, twice := values[key]; twice {
			return nil, refuse(http.StatusBadRequest, "key %q is given twice; give it once", key)
		}
		values[key] = value
	}
	if _, err := in.Token(); err != nil {
		return nil, notWhole(err, example)
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, refuse(http.StatusBadRequest, "more follows the JSON object; send %s", example)
	}
	return values, nil
}

func notWhole(err error, example string) error {
	return refuse(http.StatusBadRequest, "the body is not a JSON object (%s); send %s", strings.TrimPrefix(err.Error(), "json: "), example)
}

func keyRemedy(key string, known []string) string {
	takes := "the body takes " + listed(known, len(known))
	if near := normalize.Nearest(key, known); near != "" {
		return "did you mean " + strconv.Quote(near) + "? " + takes
	}
	return takes
}
