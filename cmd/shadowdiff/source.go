package main

import (
	"cmp"
	"os"
	"reflect"
	"slices"
	"strings"

	"shadowdiff/web"
)

// source is where the configuration comes from: the file, if one is named, over the defaults, and the flags over both. It
// can be read again and again, and no file descriptor is kept between: a file that was replaced under its name, or behind
// a symbolic link, is the one that is read next.
type source struct {
	file  string
	flags flagValues
	env   environment
}

// flagValues are the flags that were given, by the key that they override: "web.listen" with "-admin" and its text.
type flagValues map[string]flagValue

type flagValue struct{ flag, text string }

// readConfig reads a source once. The configuration is good when there is no fault; otherwise the faults are all there
// are, in the order of the file.
func readConfig(file string, flags flagValues, env environment) (config, []fault) {
	cfg, d := source{file, flags, env}.read()
	return cfg, d.sorted()
}

// read returns the decoder too, so that faults found later get their place in the file.
func (s source) read() (config, *decoder) {
	cfg := defaultConfig()
	d := newDecoder(s)
	if s.file != "" {
		text, err := os.ReadFile(s.file)
		if err != nil {
			d.faults = []fault{{message: err.Error()}}
			return cfg, d
		}
		if !d.document(text, reflect.ValueOf(&cfg).Elem()) {
			return cfg, d
		}
	}
	for key, f := range s.flags {
		if key == calibrateFlag {
			continue
		}
		delete(d.faulty, key)
		if err := setScalar(fieldAt(&cfg, key), f.text); err != nil {
			d.faults = append(d.faults, fault{source: f.flag, message: err.Error()})
			d.faulty[key] = true
		}
	}
	if f, asked := s.flags[calibrateFlag]; asked {
		if err := cfg.calibrate(f.text); err != nil {
			d.faults = append(d.faults, fault{message: err.Error()})
			return cfg, d
		}
	}
	for _, err := range cfg.Validate() {
		d.follow(err)
	}
	return cfg, d
}

// again is read, but for a file that cannot be read twice: of a pipe, what was in it has gone, and it may never end.
func (s source) again() (config, *decoder) {
	if about, err := os.Stat(s.file); err == nil && !about.Mode().IsRegular() {
		d := newDecoder(s)
		d.faults = []fault{{message: s.file + " is not a regular file, and is not read again"}}
		return defaultConfig(), d
	}
	return s.read()
}

// sorted are the faults in the order of the file; flags, which have no place in it, come first.
func (d *decoder) sorted() []fault {
	slices.SortStableFunc(d.faults, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.column, b.at.column))
	})
	return d.faults
}

// follow places a fault that a part found in itself: at the flag that set its key (or that would, where there is no
// file), at the key in the file, or at the nearest part of the file that holds it; what is no key's has no place. What
// follows from a fault that is told already is not told.
func (d *decoder) follow(err error) {
	key := strings.TrimSuffix(leadingKey.FindString(err.Error()), ": ")
	for part := key; part != ""; part = parentKey(part) {
		if d.faulty[part] {
			return
		}
	}
	if name := flagOf(key); name != "" && (d.file == "" || d.flags[key] != flagValue{}) {
		d.faults = append(d.faults, fault{source: name, message: strings.TrimPrefix(err.Error(), key+": ")})
		return
	}
	at, found := d.places[key]
	for part := key; !found && part != ""; {
		part = parentKey(part)
		at, found = d.places[part]
	}
	d.faults = append(d.faults, fault{d.file, at, err.Error()})
}

// told are faults in the form in which they leave by the API and the page.
func told(faults []fault) []web.Fault {
	list := []web.Fault{}
	for _, f := range faults {
		list = append(list, web.Fault{File: f.source, Line: f.at.line, Column: f.at.column, Message: f.message})
	}
	return list
}
