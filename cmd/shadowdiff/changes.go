package main

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// change is one key with another value than before.
type change struct {
	key  string // "shadow.timeout"
	text string // "shadow.timeout: 2s (was 5s)"; the key alone where its value is a list, a table or a secret
}

// changesBetween lists the keys whose values differ, in the order of the configuration. A list is one key.
func changesBetween(before, after config) []change {
	return compareKeys(reflect.ValueOf(before), reflect.ValueOf(after), "")
}

func compareKeys(before, after reflect.Value, path string) (list []change) {
	for _, f := range typeFields(before.Type()) {
		a, b := before.FieldByIndex(f.Index), after.FieldByIndex(f.Index)
		at := join(path, f.key)
		switch {
		case a.Kind() == reflect.Struct && !isText(a):
			list = append(list, compareKeys(a, b, at)...)
		case !sameValue(a, b):
			list = append(list, change{at, describeChange(at, a, b)})
		}
	}
	return list
}

// sameValue takes a list or table that is not there for one without entries.
func sameValue(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice || a.Kind() == reflect.Map {
		if a.Len() == 0 && b.Len() == 0 {
			return true
		}
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

func describeChange(key string, before, after reflect.Value) string {
	is, ok := plainValue(after)
	was, _ := plainValue(before)
	if !ok || isSecret(key) {
		return key
	}
	return fmt.Sprintf("%s: %s (was %s)", key, is, was)
}

// plainValue is the value as the file would have it, if it is one that a line can hold.
func plainValue(v reflect.Value) (text string, ok bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "none", plainKind(v.Type().Elem())
		}
		v = v.Elem()
	}
	if !plainKind(v.Type()) {
		return "", false
	}
	if text = fmt.Sprint(v.Interface()); text == "" {
		text = "none"
	}
	return text, true
}

func plainKind(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Struct, reflect.Pointer:
		return false
	}
	return true
}

func isText(v reflect.Value) bool {
	_, ok := reflect.New(v.Type()).Interface().(encoding.TextUnmarshaler)
	return ok || v.Type() == reflect.TypeFor[time.Time]()
}

// restartKeys are read when the process starts, each with all below it: ports are taken and files opened then, and what a
// listener was given cannot be changed under its connections.
func restartKeys() []string {
	return []string{"mode", "listen", "server", "store.path", "web", "record.dir"}
}

// needRestart are the faults of a configuration that cannot take the place of the one in force: each begins with its key.
func needRestart(before, after config) (faults []error) {
	for _, c := range changesBetween(before, after) {
		if slices.ContainsFunc(restartKeys(), func(key string) bool { return c.key == key || strings.HasPrefix(c.key, key+".") }) {
			faults = append(faults, fmt.Errorf("%s: takes effect at a restart only", c.key))
		}
	}
	if had, has := before.TLS.Cert != "", after.TLS.Cert != ""; had != has {
		faults = append(faults, fmt.Errorf("tls: whether clients come over TLS takes effect at a restart only"))
	}
	return faults
}
