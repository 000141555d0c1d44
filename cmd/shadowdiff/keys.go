package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"shadowdiff/normalize"
)

// listIndex is an element's place in the path of a key: "[2]", where configKeys has "[]".
var listIndex = regexp.MustCompile(`\[\d+\]`)

// unknownKey notes a key that the part at path does not have, and what was probably meant.
func (d *decoder) unknownKey(key *yaml.Node, fields map[string]reflect.Value, path string) {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	at := join(path, key.Value)
	switch near := normalize.Nearest(key.Value, names); {
	case near != "":
		d.fault(key, "", "unknown key %q; did you mean %q?", at, join(path, near))
	case elsewhere(key.Value) != "":
		d.fault(key, "", "unknown key %q; did you mean %q?", at, elsewhere(key.Value))
	case path == "":
		d.fault(key, "", "unknown key %q", at)
	default:
		d.fault(key, "", "unknown key %q; %s has %s", at, path, strings.Join(names, ", "))
	}
}

// elsewhere finds the path of a key that stands in the wrong part of the file.
func elsewhere(name string) string {
	for _, path := range configKeys() {
		if strings.HasSuffix(path, "."+name) && !strings.Contains(path, "[]") {
			return path
		}
	}
	return ""
}

// configKeys lists the path of every key that the file may hold, parts before what they hold: "shadow",
// "shadow.timeout", "routes[].match".
func configKeys() []string {
	var keys []string
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		switch t.Kind() {
		case reflect.Pointer:
			walk(t.Elem(), path)
		case reflect.Slice:
			walk(t.Elem(), path+"[]")
		case reflect.Struct:
			for _, f := range typeFields(t) {
				at := join(path, f.key)
				keys = append(keys, at)
				walk(f.Type, at)
			}
		}
	}
	walk(reflect.TypeFor[config](), "")
	return keys
}

// taggedField is a struct's field with its key in the file.
type taggedField struct {
	reflect.StructField
	key string
}

// typeFields lists the fields that have a yaml key, those of inlined structs in their place; Index leads to them from t.
func typeFields(t reflect.Type) []taggedField {
	var fields []taggedField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline" && f.Type.Kind() == reflect.Struct:
			for _, inner := range typeFields(f.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				fields = append(fields, inner)
			}
		case f.IsExported() && name != "" && name != "-":
			fields = append(fields, taggedField{f, name})
		}
	}
	return fields
}

// inlineTable returns the table that takes what a struct has no field for, where it has one; its package says then what
// such a key means.
func inlineTable(v reflect.Value) (reflect.Value, bool) {
	for i := range v.NumField() {
		if _, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); options == "inline" && v.Field(i).Kind() == reflect.Map {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// structFields returns a struct's fields by their key in the file.
func structFields(v reflect.Value) map[string]reflect.Value {
	fields := make(map[string]reflect.Value)
	for _, f := range typeFields(v.Type()) {
		fields[f.key] = v.FieldByIndex(f.Index)
	}
	return fields
}
