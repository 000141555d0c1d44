package normalize

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPlaces is to how many decimals, or zeros before the point, numbers can be rounded.
const maxPlaces = 1000

// compileSettings reads the settings of a rule that has all it needs and no others.
func (c *RuleConfig) compileSettings(r *rule) []error {
	switch r.verb {
	case verbPair:
		return c.compileBy(r)
	case verbMask, verbMaskKeys:
		return c.compileMask(r)
	case verbRound, verbCoerce, verbRename:
		return keyed("to", c.compileTo(r))
	case verbTolerate:
		var err error
		if r.tolerance, err = parseTolerance(c.Within); err != nil {
			return keyed("within", err)
		}
		r.settings, r.special = " within "+r.tolerance.String(), &Special{Tolerance: r.tolerance}
	case verbAbsent:
		return keyed("when", c.compileWhen(r))
	case verbParse:
		return keyed("as", c.compileAs(r))
	case verbLower:
		r.text = newLower()
	case verbTrim:
		r.text = newTrim()
	case verbSqueeze:
		r.text = newSqueeze()
	case verbNFC:
		r.text = newNFC()
	}
	return nil
}

// keyed is an error under the key it is about, or none.
func keyed(key string, err error) []error {
	if err == nil {
		return nil
	}
	return []error{fmt.Errorf(".%s: %w", key, err)}
}

func (c *RuleConfig) compileTo(r *rule) error {
	r.settings = " to " + strconv.Quote(c.To)
	switch r.verb {
	case verbRound:
		places, err := strconv.Atoi(c.To)
		if err != nil || places < -maxPlaces || places > maxPlaces {
			if c.To == "" {
				return errors.New("round needs a number of decimals: write to: 2")
			}
			return fmt.Errorf("%q is no number of decimals: write a whole number such as 2", c.To)
		}
		r.value, r.settings = newRound(places), fmt.Sprintf(" to %d", places)
	case verbCoerce:
		if c.To == "" {
			return errors.New("coerce needs a type: write to: number, string, bool or time")
		}
		var err error
		r.value, err = newCoerce(c.To)
		return err
	case verbRename:
		return c.compileName(r)
	}
	return nil
}

// compileName reads the new name of a key, header or cookie.
func (c *RuleConfig) compileName(r *rule) error {
	if r.to = textOf(c.To); r.pattern == nil {
		return nil
	}
	switch root := r.pattern.root; {
	case c.To == "":
		return errors.New("rename needs the new name: write to: user_id")
	case strings.HasPrefix(c.To, root+"."):
		return fmt.Errorf("%q is a field: write the new name alone", c.To)
	case root != "body" && !isToken(c.To):
		return fmt.Errorf("%q is no name of a %s", c.To, root)
	case root == "header" || root == "trailer":
		r.to = strings.ToLower(c.To)
		r.settings = " to " + strconv.Quote(r.to)
	}
	segments := r.pattern.segments
	if len(segments) > 0 && segments[len(segments)-1].kind == stepKey {
		if key := segments[len(segments)-1].key; key == r.to {
			return fmt.Errorf("%q is the name it has already", c.To)
		}
		r.special = &Special{Sent: segments[len(segments)-1].key}
	}
	return nil
}

// compileBy reads the fields, relative to the element, by which elements are paired.
func (c *RuleConfig) compileBy(r *rule) []error {
	const root = "body"
	var faults []error
	r.settings = " by"
	for i, key := range c.By {
		text, before := root+"."+key, len(root)+1
		if strings.HasPrefix(key, "[") {
			text, before = root+key, len(root)
		}
		p := &fieldParser{text: text, at: len(root)}
		pattern := &Pattern{root: root}
		var err error
		if key == "" || key == "." || len(key) > maxField {
			err = errors.New("write a field relative to the element, such as id")
		}
		for err == nil && p.more() {
			at := p.at
			var s segment
			if s, err = p.segment(); err == nil && s.kind != stepKey && s.kind != stepIndex {
				err = p.fail(at, "a key is one place in the element: no wildcards")
			}
			pattern.segments = append(pattern.segments, s)
		}
		if err != nil {
			at := ".by"
			if len(c.By) > 1 {
				at = fmt.Sprintf(".by[%d]", i)
			}
			faults = append(faults, fmt.Errorf("%s: %w", at, shiftColumn(err, before)))
		}
		r.by = append(r.by, pattern)
		r.settings += " " + strings.TrimPrefix(pattern.String(), root)
	}
	r.special = &Special{Keys: r.by}
	return faults
}

// shiftColumn takes the columns of what was put before a text out of an error about it.
func shiftColumn(err error, before int) error {
	var column int
	rest, ok := strings.CutPrefix(err.Error(), "column ")
	if !ok {
		return err
	}
	number, rest, _ := strings.Cut(rest, ": ")
	column, _ = strconv.Atoi(number)
	return fmt.Errorf("column %d: %s", max(column-before, 1), rest)
}

func (c *RuleConfig) compileMask(r *rule) []error {
	var faults []error
	with := "<id>"
	if c.With != nil {
		with = *c.With
	}
	if c.Numbered && with == "" {
		faults = append(faults, errors.New(".with: a number needs a text to stand in: write with: \"<id>\", or leave it out"))
	}
	re, err := compileExpression(c.Pattern)
	if err != nil {
		return append(faults, keyed("pattern", err)...)
	}
	r.text, r.numbered = newMask(re, with, c.Numbered), c.Numbered
	r.settings = fmt.Sprintf(" pattern %q with %q", c.Pattern, with)
	if c.Numbered {
		r.settings += " numbered"
	}
	return faults
}

// compileExpression compiles RE2. Its error names the column, from 1, where that can be told.
func compileExpression(text string) (*regexp.Regexp, error) {
	if len(text) > maxField {
		return nil, fmt.Errorf("an expression is at most %d bytes long", maxField)
	}
	re, err := regexp.Compile(text)
	var e *syntax.Error
	if !errors.As(err, &e) {
		return re, err
	}
	at := max(strings.LastIndex(text, e.Expr), 0)
	if e.Code == syntax.ErrMissingParen || e.Code == syntax.ErrMissingBracket {
		at = unclosed(text)
	}
	return nil, fmt.Errorf("column %d: no RE2 expression: %s: `%s`", utf8.RuneCountInString(text[:at])+1, e.Code, text[at:])
}

// unclosed is where the last bracket of an expression opens that nothing closes.
func unclosed(text string) int {
	var open []int
	class := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[' && !class, c == '(' && !class:
			class = c == '['
			open = append(open, i)
		case c == ']' && class, c == ')' && !class && len(open) > 0:
			class = false
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

func (c *RuleConfig) compileWhen(r *rule) error {
	if c.When == whenEmpty {
		r.settings = " when empty"
		return nil
	}
	p := new(parser)
	if !p.parse([]byte(c.When), false) {
		return fmt.Errorf("no JSON value: %s: write null, empty or a value such as 0 or \"n/a\"", p.failure)
	}
	r.when = &p.root
	if r.pattern != nil && r.pattern.root != "body" && r.when.Type != String {
		return fmt.Errorf("a %s is a text and never %s: write empty, or a text in quotes", r.pattern.root, c.When)
	}
	r.settings = " when " + string(appendCanonical(nil, r.when))
	return nil
}

func (c *RuleConfig) compileAs(r *rule) error {
	words := contentsWords()
	if r.pattern != nil && r.pattern.root != "body" && c.As != "url" && c.As != "query" {
		return fmt.Errorf("in a %s only a url or a query is parsed, so that the order of parameters does not matter", r.pattern.root)
	}
	for i, word := range words {
		if c.As == word {
			r.contents, r.settings = contents(i), " as "+word
			// What only the candidate wraps into strings is to be held against what the others send as it is.
			r.special = &Special{Inside: true, Parsed: !r.candidate}
			if r.text = textOfURL; r.contents == contentsQuery {
				r.text = textOfQuery
			}
			return nil
		}
	}
	if near := Nearest(strings.ToLower(c.As), words); near != "" {
		return fmt.Errorf("%q is nothing a string is parsed as; did you mean %q?", c.As, near)
	}
	return fmt.Errorf("%q is nothing a string is parsed as: write %s", c.As, strings.Join(words, ", "))
}

// appendCanonical writes a value in one way only: members in order of their keys, numbers canonical.
func appendCanonical(dst []byte, v *Value) []byte {
	switch v.Type {
	case Null:
		return append(dst, "null"...)
	case String:
		return appendQuoted(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i := range v.Items {
			dst = appendCanonical(separate(dst, i), &v.Items[i])
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range v.Members {
			dst = append(appendQuoted(separate(dst, i), v.Members[i].Key), ':')
			dst = appendCanonical(dst, &v.Members[i].Value)
		}
		return append(dst, '}')
	}
	return append(dst, v.Text...)
}
