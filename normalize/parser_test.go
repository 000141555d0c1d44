package normalize

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// treeOf is the Value of a JSON text, read by a parser that has read others before.
func treeOf(t *testing.T, n *Normalizer, text string) *Value {
	t.Helper()
	p := n.parser(nil)
	if !p.parse([]byte(text), false) {
		t.Fatalf("%s: %s", text, p.failure)
	}
	root := p.root
	p.arena = nil
	n.release(p)
	return &root
}

// unlike says in what two values are not the same to the last detail; "" when they are.
func unlike(a, b *Value) string {
	switch {
	case a == nil || b == nil:
		if a != b {
			return "one is nil"
		}
		return ""
	case a.Type != b.Type || a.Unordered != b.Unordered || a.Text != b.Text || a.Index != b.Index || a.Size != b.Size || a.Hash != b.Hash,
		string(a.Raw) != string(b.Raw), a.Special != b.Special, len(a.Items) != len(b.Items), len(a.Members) != len(b.Members):
		return fmt.Sprintf("%s is not %s", a.Raw, b.Raw)
	}
	for i := range a.Items {
		if d := unlike(&a.Items[i], &b.Items[i]); d != "" {
			return d
		}
	}
	for i := range a.Members {
		l, r := &a.Members[i], &b.Members[i]
		if l.Key != r.Key || len(l.Hidden) != len(r.Hidden) {
			return fmt.Sprintf("%q has %d copies, %q has %d", l.Key, 1+len(l.Hidden), r.Key, 1+len(r.Hidden))
		}
		d := unlike(&l.Value, &r.Value)
		for j := 0; j < len(l.Hidden) && d == ""; j++ {
			d = unlike(&l.Hidden[j], &r.Hidden[j])
		}
		if d != "" {
			return d
		}
	}
	return ""
}

// What an object becomes does not depend on those before it, whose keys are foreseen in it.
func TestObjectsAreReadAsIfAlone(t *testing.T) {
	n := mustNew(t)
	random := rand.New(rand.NewPCG(1, 2))
	keys := []string{`"a"`, `"b"`, `"c"`, `"long key"`, `"\u0061"`, `"\n"`, `"ä"`, `"\ud800"`, "\"\xff\"", `""`, `"\\"`, `"x\"y"`}
	var object func(depth int) string
	object = func(depth int) string {
		var members []string
		for _, key := range keys {
			value := fmt.Sprint(random.IntN(9))
			switch {
			case random.IntN(4) == 0:
				continue
			case depth > 0 && random.IntN(4) == 0:
				value = object(depth - 1)
			case depth > 0 && random.IntN(4) == 0:
				value = "[" + object(depth-1) + ", " + object(depth-1) + ",[]]"
			}
			members = append(members, key+[]string{":", " : "}[random.IntN(2)]+value)
			if random.IntN(40) == 0 {
				members = append(members, members[random.IntN(len(members))])
			}
		}
		if random.IntN(3) == 0 {
			random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for range 100 {
		objects := make([]string, 1+random.IntN(6))
		for i := range objects {
			objects[i] = object(2)
			if i > 0 && random.IntN(2) == 0 {
				objects[i] = strings.NewReplacer("1", "7", "2", "8").Replace(objects[i-1])
			}
		}
		list := treeOf(t, n, "["+strings.Join(objects, ",")+"]")
		for i, text := range objects {
			alone := treeOf(t, n, text)
			alone.Index = i
			if d := unlike(alone, &list.Items[i]); d != "" {
				t.Fatalf("%s\nof %s: %s", text, objects, d)
			}
		}
		hashesAreRight(t, list)
	}
}

// hashesAreRight tells whether the parser makes the hashes and sizes that rules make anew.
func hashesAreRight(t *testing.T, v *Value) {
	for i := range v.Items {
		hashesAreRight(t, &v.Items[i])
	}
	for i := range v.Members {
		hashesAreRight(t, &v.Members[i].Value)
	}
	if again := *v; again.Type == Array || again.Type == Object {
		if again.rehash(); again.Hash != v.Hash || again.Size != v.Size {
			t.Fatalf("%s: %d of size %d, made anew %d of size %d", v.Raw, v.Hash, v.Size, again.Hash, again.Size)
		}
	}
}

// Objects that are not what was foreseen cost memory in proportion to those before them at most.
func TestSurprisesAreCheap(t *testing.T) {
	large := make([]string, maxShape)
	for i := range large {
		large[i] = fmt.Sprintf(`"k%d":0`, i)
	}
	n := mustNew(t)
	for _, small := range []string{`{"k0":0}`, `{"\\u0061":0}`, `{"k0":0,"k0":0}`, `{}`} {
		body := "[{" + strings.Join(large, ",") + "}" + strings.Repeat(","+small, 10_000) + "]"
		p := n.parser(nil)
		if !p.parse([]byte(body), false) {
			t.Fatal(p.failure)
		}
		if p.budget.taken > 20<<20 {
			t.Errorf("%d bytes for %d", p.budget.taken, len(body))
		}
	}
}
