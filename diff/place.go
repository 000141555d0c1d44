package diff

import (
	"strings"

	"shadowdiff/normalize"
)

// Bounds of what a field may be called, so that no body can make many or endless names.
const (
	keysApart   = 64  // an object with more members than this is a map: its keys fold into {}
	keyLength   = 256 // bytes of a key; longer ones fold too
	levelsApart = 64  // levels of a body with names of their own; all below is one field that ends in .**
)

// place is a field's node in the tree of a body's fields. Its name is made when something differs there.
type place struct {
	above   *place
	segment string
	level   int
	keys    map[string]*place
	any     *place // elements, or what lies below the last level with a name
	name    string
	sum     *sum // nil while nothing differs here
	folds   bool // some key stands here that folded though it does not look like an id
	renames bool // a rule gave members of different keys the one name
}

func bodyPlace() *place { return &place{segment: string(normalize.FieldBody)} }

// key is the place of a member. Folded ones share a place.
func (p *place) key(key string, fold bool) *place {
	if p.level >= levelsApart {
		return p.deep()
	}
	folds := false
	if fold || len(key) > keyLength {
		folds = !normalize.FoldsKey(key)
		key = "0" // any number folds
	}
	at, ok := p.keys[key]
	if !ok {
		at = &place{above: p, segment: string(normalize.Field("").Key(key)), level: p.level + 1}
		if p.keys == nil {
			p.keys = map[string]*place{}
		}
		p.keys[key] = at
	}
	at.folds = at.folds || folds
	return at
}

// folded tells whether the name leaves out a key that was sent.
func (p *place) folded() bool {
	for at := p; at != nil; at = at.above {
		if at.folds {
			return true
		}
	}
	return false
}

// renamed tells whether what stands here may have been sent under another name.
func (p *place) renamed() bool {
	for at := p; at != nil; at = at.above {
		if at.renames {
			return true
		}
	}
	return false
}

// elements is the place of an array's elements.
func (p *place) elements() *place {
	if p.level >= levelsApart {
		return p.deep()
	}
	if p.any == nil {
		p.any = &place{above: p, segment: "[]", level: p.level + 1}
	}
	return p.any
}

func (p *place) deep() *place {
	if p.level > levelsApart {
		return p
	}
	if p.any == nil {
		p.any = &place{above: p, segment: ".**", level: p.level + 1}
	}
	return p.any
}

// field is the place's name.
func (p *place) field() string {
	if p.name == "" {
		var segments []string
		for at := p; at != nil; at = at.above {
			segments = append(segments, at.segment)
		}
		var b strings.Builder
		for i := len(segments) - 1; i >= 0; i-- {
			b.WriteString(segments[i])
		}
		p.name = b.String()
	}
	return p.name
}
