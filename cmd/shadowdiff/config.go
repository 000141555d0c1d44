package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
	"shadowdiff/web"
)

// config is the whole configuration file. Every package owns its part: its keys, its defaults and its Validate.
type config struct {
	Mode             string `yaml:"mode"` // front or sink
	multicast.Config `yaml:",inline"`
	VersionHeader    string            `yaml:"version_header"` // response header that tells the candidate's version
	Run              string            `yaml:"run"`            // name of the run; another one begins another
	Normalize        normalize.Config  `yaml:",inline"`
	Verdict          diff.Config       `yaml:"verdict"`
	Store            store.Config      `yaml:"store"`
	Web              web.Config        `yaml:"web"`
	Webhook          web.WebhookConfig `yaml:"webhook"`

	Replay    bool `yaml:"-"` // what is counted is a replay, and goes on with no run of clients
	Calibrate bool `yaml:"-"` // known-good code answers in the candidate's place: Candidate, Run and more are as that needs
}

func defaultConfig() config {
	return config{
		Mode:      modeFront,
		Config:    multicast.DefaultConfig(),
		Normalize: normalize.DefaultConfig(),
		Verdict:   diff.DefaultConfig(),
		Store:     store.DefaultConfig(),
		Web:       web.DefaultConfig(),
		Webhook:   web.DefaultWebhookConfig(),
	}
}

// Modes: clients come to us, or another proxy serves them and mirrors to us.
const (
	modeFront = "front"
	modeSink  = "sink"
)

// Validate returns every fault that each part finds in itself; each message begins with its key.
func (c config) Validate() []error {
	var faults []error
	switch c.Mode {
	case modeFront, modeSink:
	default:
		faults = append(faults, fmt.Errorf("mode: %q is not a mode; front and sink are", c.Mode))
	}
	faults = append(faults, c.validateRun()...)
	faults = append(faults, c.Config.Validate()...)
	faults = append(faults, c.Normalize.Validate()...)
	faults = append(faults, c.Verdict.Validate()...)
	faults = append(faults, c.Store.Validate()...)
	faults = append(faults, c.Web.Validate()...)
	faults = append(faults, c.Webhook.Validate()...)
	if sameListener(c.Listen, c.Web.Listen) {
		faults = append(faults, fmt.Errorf("web.listen: must have a port of its own: clients come to %s (listen)", c.Listen))
	}
	return faults
}

// sameListener says whether two addresses cannot be listened on at the same time.
func sameListener(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil {
		return false
	}
	numberA, errA := net.LookupPort("tcp", portA)
	numberB, errB := net.LookupPort("tcp", portB)
	if errA != nil || errB != nil || numberA != numberB || numberA == 0 {
		return false
	}
	return hostA == hostB || everywhere(hostA) || everywhere(hostB)
}

// everywhere says whether a listener's host stands for all addresses of the machine.
func everywhere(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// document reads the one document that a file may hold; an empty file is one that sets nothing. It answers false when
// the text is no YAML, or no mapping, so that nothing more can be said of it.
func (d *decoder) document(text []byte, v reflect.Value) bool {
	if at, what := badByte(text); what != "" {
		d.faults = append(d.faults, fault{d.file, at, what})
		return false
	}
	loader, err := yaml.NewLoader(strings.NewReader(string(text)))
	if err != nil {
		d.faults = append(d.faults, fault{source: d.file, message: err.Error()})
		return false
	}
	var docs []*yaml.Node
	for {
		doc := new(yaml.Node)
		err := loader.Load(doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.faults = append(d.faults, syntaxFault(d.file, text, err))
			return false
		}
		docs = append(docs, doc)
	}
	d.places[""] = position{1, 1}
	readable := true
	for i, doc := range docs {
		if i > 0 {
			d.fault(doc, "", "a second document begins here; one file holds one")
			continue
		}
		for _, root := range doc.Content {
			d.places[""] = position{root.Line, root.Column}
			d.value(root, v, "")
			readable = root.Kind == yaml.MappingNode || root.Tag == "!!null"
		}
	}
	return readable
}

// syntaxFault places what the YAML library could not read, in words for those who see its usual causes.
func syntaxFault(file string, text []byte, err error) fault {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok || e.Mark.Line == 0 {
		return fault{source: file, message: err.Error()}
	}
	message := e.Message
	lines := strings.Split(string(text), "\n")
	line := lines[min(e.Mark.Line, len(lines))-1]
	rest := line[min(max(e.Mark.Column-1, 0), len(line)):]
	switch {
	case strings.HasPrefix(rest, "\t"):
		message = "a tab cannot indent YAML; use spaces"
	case strings.HasPrefix(rest, "`"), strings.HasPrefix(rest, "@"), strings.HasPrefix(rest, "%"):
		message = fmt.Sprintf("a value that begins with %c needs quotes", rest[0])
	case e.ContextMsg != "":
		message = fmt.Sprintf("%s (%s that begins in line %d)", e.Message, e.ContextMsg, e.ContextMark.Line)
	}
	return fault{file, position{e.Mark.Line, e.Mark.Column}, "not YAML: " + message}
}

// badByte finds the first byte that no YAML file may hold.
func badByte(text []byte) (position, string) {
	at := position{1, 1}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			return at, fmt.Sprintf("not YAML: the byte 0x%02x is not UTF-8", text[0])
		case r < ' ' && r != '\n' && r != '\t' && r != '\r', r == 0x7f:
			return at, fmt.Sprintf("not YAML: the control character 0x%02x", r)
		case r == '\n':
			at = position{at.line + 1, 0}
		}
		at.column++
		text = text[size:]
	}
	return position{}, ""
}

var leadingKey = regexp.MustCompile(`^[a-z_]+(?:\[\d+\])*(?:\.[^\s:.\[\]]+(?:\[\d+\])*)*: `)

// parentKey is the key of the part that holds the one at key: "routes[2].match" gives "routes[2]", and that "routes".
func parentKey(key string) string { return key[:max(strings.LastIndexAny(key, ".["), 0)] }

// fieldAt returns the field of a key such as "web.listen", which must exist and stand in no list.
func fieldAt(cfg *config, key string) reflect.Value {
	v := reflect.ValueOf(cfg).Elem()
	for _, name := range strings.Split(key, ".") {
		v = structFields(v)[name]
	}
	return v
}
