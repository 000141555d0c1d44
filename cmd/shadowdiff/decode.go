package main

import (
	"encoding"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// decoder reads one YAML document into a struct by its yaml tags. Unlike the library's own decoding it finds every
// fault, each with its place, and remembers where each key stands, so that faults found later have a place as well.
type decoder struct {
	source
	places map[string]position // of each key in the file, by path: "routes[2].match"
	faults []fault
	faulty map[string]bool     // paths that have a fault already: what follows from it is not told
	told   map[*yaml.Node]bool // nodes likewise: one that is used again by an alias is told once
}

func newDecoder(s source) *decoder {
	return &decoder{
		source: s,
		places: make(map[string]position),
		faulty: make(map[string]bool),
		told:   make(map[*yaml.Node]bool),
	}
}

// longestFault is the bytes of a message, which may quote a value of any length.
const longestFault = 1000

// fault notes what is wrong with the value of the key at path, and that nothing more need be said of it.
func (d *decoder) fault(n *yaml.Node, path, format string, args ...any) {
	d.faulty[path] = true
	if d.told[n] {
		return
	}
	d.told[n] = true
	message := fmt.Sprintf(format, args...)
	if len(message) > longestFault {
		message = strings.ToValidUTF8(message[:longestFault], "") + "…"
	}
	if path != "" {
		message = path + ": " + message
	}
	d.faults = append(d.faults, fault{d.file, position{n.Line, n.Column}, message})
}

// value reads n into v.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if u, ok := v.Addr().Interface().(yaml.Unmarshaler); ok {
		if err := u.UnmarshalYAML(n); err != nil {
			d.fault(n, path, "%s", plainYAMLError(err))
		}
		return
	}
	switch kind := v.Kind(); {
	case isScalar(v):
		d.scalar(n, v, path)
	case kind == reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		d.value(n, target.Elem(), path)
		v.Set(target)
	case kind == reflect.Struct:
		d.mapping(n, v, path)
	case kind == reflect.Slice:
		d.sequence(n, v, path)
	case kind == reflect.Map:
		d.table(n, v, path)
	default:
		d.fault(n, path, "cannot be configured")
	}
}

// isScalar says whether v takes one text.
func isScalar(v reflect.Value) bool {
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return true
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	return v.Type() == reflect.TypeFor[time.Duration]()
}

// scalar reads one value, after its variables have been replaced.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fault(n, path, "one value is expected here, not %s", describe(n))
		return
	case n.Tag == "!!null":
		d.fault(n, path, `has no value; leave the key out for its default, or write "" for an empty one`)
		return
	}
	text, err := expand(n.Value, d.env)
	if err == nil {
		err = setScalar(v, text)
	}
	switch {
	case err == nil && text == "" && n.Value != "" && isSecret(path):
		d.fault(n, path, "the environment variable is empty, and so there would be no secret; give it a value, or leave the key out")
	case err != nil && isSecret(path) && strings.Contains(err.Error(), noVariable):
		d.fault(n, path, "holds ${ that%s", noVariable) // the error itself repeats what follows it
	case err != nil:
		d.fault(n, path, "%s", err)
	}
}

// sequence reads a list. It replaces the default one as a whole.
func (d *decoder) sequence(n *yaml.Node, v reflect.Value, path string) {
	if n.Tag == "!!null" {
		return // the key of a list whose items are all commented out
	}
	if n.Kind != yaml.SequenceNode {
		d.fault(n, path, "a list is expected here, not %s", describe(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.places[at] = position{item.Line, item.Column}
		d.value(item, list.Index(i), at)
	}
	v.Set(list)
}

// table reads a mapping with free keys, such as set_headers.
func (d *decoder) table(n *yaml.Node, v reflect.Value, path string) {
	if n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, "keys with values are expected here, not %s", describe(n))
		return
	}
	table := reflect.MakeMap(v.Type())
	for _, e := range d.entries(n, path, 0) {
		at := join(path, e.key.Value)
		d.places[at] = position{e.key.Line, e.key.Column}
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.value, value, at)
		table.SetMapIndex(reflect.ValueOf(e.key.Value), value)
	}
	v.Set(table)
}

// mapping reads the keys of a struct.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Tag == "!!null" {
		return // the key of a part whose keys are all commented out
	}
	if n.Kind != yaml.MappingNode && holdsSecret(path) {
		d.fault(n, path, "keys with values are expected here") // what stands there may be meant for one of them
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, "keys with values are expected here, not %s", describe(n))
		return
	}
	fields := structFields(v)
	for _, e := range d.entries(n, path, 0) {
		key := e.key.Value
		at := join(path, key)
		field, known := fields[key]
		switch {
		case known:
			d.places[at] = position{e.key.Line, e.key.Column}
			d.value(e.value, field, at)
		case d.isSecretFile(at):
			d.places[strings.TrimSuffix(at, "_file")] = position{e.key.Line, e.key.Column}
			d.secretFile(e, fields[strings.TrimSuffix(key, "_file")], at)
		default:
			d.otherKey(e, v, fields, path)
		}
	}
}

// otherKey hands a key that a struct has no field for to its table of such keys, or notes that there is none.
func (d *decoder) otherKey(e entry, v reflect.Value, fields map[string]reflect.Value, path string) {
	table, ok := inlineTable(v)
	if !ok {
		d.unknownKey(e.key, fields, path)
		return
	}
	value := reflect.New(table.Type().Elem())
	if err := e.value.Decode(value.Interface()); err != nil {
		d.fault(e.value, join(path, e.key.Value), "%s", plainYAMLError(err))
		return
	}
	if table.IsNil() {
		table.Set(reflect.MakeMap(table.Type()))
	}
	d.places[join(path, e.key.Value)] = position{e.key.Line, e.key.Column}
	table.SetMapIndex(reflect.ValueOf(e.key.Value), value.Elem())
}

// entry is one key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

// entries lists a mapping's own keys, then what its merge keys (<<) add to them.
func (d *decoder) entries(n *yaml.Node, path string, depth int) []entry {
	var own, merged []entry
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		line, again := seen[key.Value]
		switch {
		case key.Tag == "!!merge":
			merged = append(merged, d.mergedEntries(value, path, depth)...)
		case key.Kind != yaml.ScalarNode:
			d.fault(key, path, "a key must be a word, not %s", describe(key))
		case again:
			d.fault(key, join(path, key.Value), "stands here a second time; the first is in line %d", line)
		default:
			seen[key.Value] = key.Line
			own = append(own, entry{key, value})
		}
	}
	for _, e := range merged {
		if _, have := seen[e.key.Value]; !have {
			seen[e.key.Value] = e.key.Line
			own = append(own, e)
		}
	}
	return own
}

// mergedEntries lists what the value of a merge key brings: one mapping, or a list of them of which the first wins.
func (d *decoder) mergedEntries(n *yaml.Node, path string, depth int) []entry {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case depth > 10: // a mapping that merges itself, by way of others or not
		d.fault(n, path, "merge keys are nested too deeply")
		return nil
	case n.Kind == yaml.MappingNode:
		return d.entries(n, path, depth+1)
	case n.Kind == yaml.SequenceNode:
		var all []entry
		for _, item := range n.Content {
			all = append(all, d.mergedEntries(item, path, depth+1)...)
		}
		return all
	}
	d.fault(n, path, "<< takes a mapping, not %s", describe(n))
	return nil
}

// isSecretFile says whether a key tells the file of a secret: token_file beside token.
func (d *decoder) isSecretFile(path string) bool {
	key, found := strings.CutSuffix(path, "_file")
	return found && isSecret(key)
}

// isSecret says whether the value of a key is not to be shown.
func isSecret(key string) bool {
	return slices.Contains(secretKeys(), key)
}

func secretKeys() []string { return []string{"web.token", "webhook.url", "webhook.secret"} }

// holdsSecret says whether one of the keys below this one is secret.
func holdsSecret(key string) bool {
	return slices.ContainsFunc(secretKeys(), func(k string) bool { return strings.HasPrefix(k, key+".") })
}

// secretFile reads a secret from the file that the key names, relative to the configuration's folder.
func (d *decoder) secretFile(e entry, field reflect.Value, path string) {
	var name string
	d.value(e.value, reflect.ValueOf(&name).Elem(), path)
	if d.faulty[path] {
		return
	}
	if field.String() != "" {
		d.fault(e.key, path, "and %s exclude each other", strings.TrimSuffix(path, "_file"))
		return
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(d.file), name)
	}
	secret, err := os.ReadFile(name)
	if err != nil {
		d.fault(e.value, path, "%s", err)
		d.faulty[strings.TrimSuffix(path, "_file")] = true
		return
	}
	text := strings.TrimRight(string(secret), "\r\n")
	if text == "" { // it would pass for none, and nobody be asked for it
		d.fault(e.value, path, "%s is empty", name)
		d.faulty[strings.TrimSuffix(path, "_file")] = true
		return
	}
	field.SetString(text)
}

// describe says what stands where something else was expected.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "keys with values"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.Tag == "!!null":
		return "nothing"
	default:
		return fmt.Sprintf("%q", n.Value)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// plainYAMLError is the library's message without its stages.
func plainYAMLError(err error) string {
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		return e.Message
	}
	return err.Error()
}
