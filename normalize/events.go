package normalize

import "bytes"

const mediaEvents = "text/event-stream"

// events reads server-sent events (WHATWG HTML, section 9.2.6) into an array of objects. An event is what stands before an
// empty line; a last one without it is none to a browser, but is to others, and may be one that was cut off: it is an
// object that says so. Of a field that stands twice the last counts; data is lines joined, and read as JSON where it is an
// object or an array. The event "message" goes without its name, which every event without one has. Comments are not
// compared.
func (r *reader) events(data []byte) (root Value, why string, ok bool) {
	data = bytes.TrimPrefix(data, []byte(bom))
	var all []Value
	var e event
	for len(data) > 0 {
		var line []byte
		if line, data = cutLine(data); len(line) > 0 {
			e.field(line)
			if len(data) > 0 {
				continue
			}
			e.unfinished = true
		}
		if e.any() {
			if len(all) == cap(all) && !growStack(&r.budget, &all) {
				return Value{}, noMemory, false
			}
			v, ok := r.event(&e)
			if !ok {
				return Value{}, noMemory, false
			}
			all = append(all, v)
		}
		e = event{}
	}
	return arrayValue(all), "", true
}

// cutLine cuts off the first line. Lines end with CRLF, LF or CR; what has no end is no line, and empties the rest.
func cutLine(data []byte) (line, rest []byte) {
	end := bytes.IndexAny(data, "\r\n")
	switch {
	case end < 0:
		return data, nil
	case data[end] == '\r' && end+1 < len(data) && data[end+1] == '\n':
		return data[:end], data[end+2:]
	}
	return data[:end], data[end+1:]
}

// event is one event as its lines have told it so far.
type event struct {
	name, id, retry []byte
	data            []byte
	hasID, hasRetry bool
	unfinished      bool
	dataLines       int
}

// any tells whether the event does anything to a client.
func (e *event) any() bool { return e.dataLines > 0 || e.hasID || e.hasRetry }

func (e *event) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.name = value
	case "data":
		e.addData(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.id, e.hasID = value, true
		}
	case "retry":
		if len(value) > 0 && len(bytes.Trim(value, "0123456789")) == 0 {
			e.retry, e.hasRetry = value, true
		}
	}
}

// addData adds a line; one alone is not copied.
func (e *event) addData(line []byte) {
	if e.dataLines++; e.dataLines == 1 {
		e.data = line[:len(line):len(line)]
		return
	}
	e.data = append(append(e.data, '\n'), line...)
}

func (r *reader) event(e *event) (Value, bool) {
	var members [5]Member
	list := members[:0]
	if e.dataLines > 0 {
		data, ok := r.content(e.data)
		if !ok {
			return Value{}, false
		}
		list = append(list, Member{Key: "data", Value: data})
	}
	if len(e.name) > 0 && string(e.name) != "message" {
		list = append(list, Member{Key: "event", Value: stringValue(textOf(string(e.name)))})
	}
	if e.hasID {
		list = append(list, Member{Key: "id", Value: stringValue(textOf(string(e.id)))})
	}
	if e.hasRetry {
		list = append(list, Member{Key: "retry", Value: stringValue(string(e.retry))})
	}
	if e.unfinished {
		list = append(list, Member{Key: "unfinished", Value: Value{Type: Bool, Text: "true", Size: 1, Hash: hashTrue}})
	}
	kept, ok := r.members(len(list))
	copy(kept, list)
	return objectValue(kept), ok
}

// content is a text within a body: a tree where it is a JSON object or array, else a string.
func (r *reader) content(data []byte) (v Value, ok bool) {
	if looksJSON(data) {
		if v, _, ok = r.json(data, false); ok || r.budget.refused {
			return v, ok
		}
	}
	return stringValue(textOf(string(data))), true
}
