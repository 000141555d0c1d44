package diff

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func text(value string) *SeenValue {
	return &SeenValue{Shape: "text", Text: value, Length: int64(len(value))}
}

// Counts are exact while there is room, and afterwards never lower than said nor higher.
func TestTopValuesAreWithinTheirBounds(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	var top TopValues
	truth := map[string]int64{}
	for i := range 20_000 {
		value := fmt.Sprintf(`"rare %d"`, dice.IntN(5000))
		if i%3 > 0 {
			value = fmt.Sprintf(`"often %d"`, dice.IntN(5))
		}
		top.add(text(value))
		truth[value]++
		if len(truth) <= topValues != top.Exact() {
			t.Fatalf("after %d values, %d different ones: exact %t", i+1, len(truth), top.Exact())
		}
	}
	list := top.List()
	for i, v := range list {
		if n := truth[string(v.Text)]; v.Count-v.Over > n || v.Count < n {
			t.Errorf("%s: %d..%d, in truth %d", v.Text, v.Count-v.Over, v.Count, n)
		}
		if i < 5 && !strings.Contains(string(v.Text), "often") {
			t.Errorf("%d. is %s", i, v.Text)
		}
	}
	for value, n := range truth {
		if !slices.ContainsFunc(list, func(v TopValue) bool { return string(v.Text) == value }) && n > top.Unseen() {
			t.Errorf("%s was seen %d times, and is not listed: at most %d are said", value, n, top.Unseen())
		}
	}
	if len(list) != topValues {
		t.Errorf("%d values", len(list))
	}
}

func TestTopValuesOfTwoAddUp(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 6))
	var parts [3]TopValues
	truth := map[string]int64{}
	for i := range 9000 {
		value := fmt.Sprintf(`"%d"`, dice.IntN(10+i%3*20))
		parts[i%3].add(text(value))
		truth[value]++
	}
	parts[0].merge(&parts[1])
	parts[0].merge(&parts[2])
	for _, v := range parts[0].List() {
		if n := truth[string(v.Text)]; v.Count-v.Over > n || v.Count < n || v.Over < 0 {
			t.Errorf("%s: %d..%d, in truth %d", v.Text, v.Count-v.Over, v.Count, n)
		}
	}
	var few, more TopValues
	few.add(text("a"))
	more.add(text("a"))
	more.add(text("b"))
	few.merge(&more)
	if list := few.List(); !few.Exact() || len(list) != 2 || list[0].Count != 2 || list[1].Over != 0 {
		t.Errorf("%+v", list)
	}
}

// Quantiles are within the error that is told, whatever the numbers: negative, zero, tiny, huge.
func TestNumbersAreWithinTheirError(t *testing.T) {
	dice := rand.New(rand.NewPCG(7, 8))
	for name, draw := range map[string]func() float64{
		"prices":        func() float64 { return 10 + dice.Float64()*90 },
		"one number":    func() float64 { return 42.5 },
		"both signs":    func() float64 { return dice.NormFloat64() * 100 },
		"some zeros":    func() float64 { return float64(dice.IntN(5) - 2) },
		"heavy tail":    func() float64 { return math.Exp(dice.NormFloat64() * 5) },
		"all exponents": func() float64 { return math.Ldexp(dice.Float64()-0.5, dice.IntN(2000)-1000) },
	} {
		var n, left, right Numbers
		var all []float64
		for i := range 5000 {
			x := draw()
			all = append(all, x)
			n.Add(x)
			if i%2 == 0 {
				left.Add(x)
			} else {
				right.Add(x / 1.5)
				all[i] = x
			}
		}
		slices.Sort(all)
		if len(n.positive)+len(n.negative) > numberBins {
			t.Errorf("%s: %d bins", name, len(n.positive)+len(n.negative))
		}
		for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.75, 0.99, 1} {
			got, ok := n.Quantile(q)
			want := all[int(q*4999)]
			if !ok || math.Abs(got-want) > n.Error()*math.Abs(want)*1.0001 {
				t.Errorf("%s: quantile %v is %v, want %v within %v", name, q, got, want, n.Error())
			}
		}
		left.Merge(&right)
		if left.Count() != 5000 || len(left.positive)+len(left.negative) > numberBins {
			t.Errorf("%s: merged %d in %d bins", name, left.Count(), len(left.positive)+len(left.negative))
		}
	}
	var odd Numbers
	odd.Add(math.NaN())
	if _, ok := odd.Quantile(0.5); ok || odd.Count() != 0 {
		t.Error("no number counts")
	}
	odd.Add(math.Inf(1))
	odd.Add(math.Inf(-1))
	if odd.Most() != math.MaxFloat64 || odd.Least() != -math.MaxFloat64 {
		t.Errorf("%v to %v", odd.Least(), odd.Most())
	}
}

func TestNumbersMergeAsIfTheyWereOne(t *testing.T) {
	var all, a, b Numbers
	for i := range 2000 {
		x := float64(i) - 300
		all.Add(x)
		if i%3 == 0 {
			a.Add(x)
		} else {
			b.Add(x)
		}
	}
	a.Merge(&b)
	if a.level == all.level && !reflect.DeepEqual(a, all) || a.Count() != all.Count() || a.Least() != -300 || a.Most() != 1699 {
		t.Errorf("merged %+v\nwant %+v", a, all)
	}
	drawn := AlignNumbers(24, &all, &a, &Numbers{})
	if len(drawn[0].Bins()) > 24 || drawn[0].Count() != 2000 || !reflect.DeepEqual(drawn[0].Bins(), drawn[1].Bins()) {
		t.Errorf("drawn in %d bins", len(drawn[0].Bins()))
	}
}

// hostile is a comparison of a body that means harm.
func hostile(route, field, value string) *Comparison {
	place := [3]SeenValue{}
	for role := range place {
		place[role] = SeenValue{Shape: "text", Text: value[:min(len(value), valueText)], Length: int64(len(value)), Cut: true, print: printOf(value), Number: float64(len(field)), IsNumber: true}
	}
	return &Comparison{Time: time.Unix(1, 0), Route: route, Values: []FieldValues{{Field: field, Candidate: 1, Control: 1, Places: [][3]SeenValue{place}}}}
}

func TestHostileValuesAreBounded(t *testing.T) {
	p := NewProfiles()
	dice := rand.New(rand.NewPCG(9, 9))
	for i := range 100_000 {
		field := fmt.Sprintf("body.f%d", i%3000)
		c := hostile("", field, fmt.Sprintf("%0*d", 100+i%200, i))
		for role := range 3 {
			c.Values[0].Places[0][role].Number = math.Ldexp(dice.Float64()-0.5, dice.IntN(2000)-1000)
			c.Values[0].Places[0][role].Length = int64(dice.Uint64() >> (1 + dice.IntN(62)))
		}
		p.Add(fmt.Sprintf("GET /%d", i%3000/100), c)
	}
	if p.count > allProfiles {
		t.Errorf("%d profiles", p.count)
	}
	got := memoryOf(p)
	t.Logf("%d MB in %d profiles", got>>20, p.count)
	if got > 40<<20 {
		t.Errorf("%d MB", got>>20)
	}
	// One in which the candidate stands alone finds room all the same, until all are such.
	c := hostile("", "body.telling", `"x"`)
	c.Values[0].Control = 0
	p.Add("GET /0", c)
	if f := p.Profile("GET /0", "body.telling"); f == nil || !f.Late || f.CandidateOnly != 1 {
		t.Errorf("%+v", f)
	}
	if _, gone := p.Take(10, func(FieldAddress) bool { return true }); len(gone) != 1 {
		t.Errorf("%d gave way", len(gone))
	}
}

// A megabyte in a value, a hundred thousand fields: what a comparison carries of it is little.
func TestHostileBodiesCarryLittle(t *testing.T) {
	jsons := func(body string) string { return "200\nContent-Type: application/json\n\n" + body }
	many := func(x int) string {
		var b strings.Builder
		b.WriteString(`[{"a":"` + strings.Repeat(fmt.Sprint(x), 1<<20) + `"`)
		for i := range 100_000 {
			if i%50 == 49 {
				b.WriteString("},{\"x\":1")
			}
			fmt.Fprintf(&b, `,"k%dx":%d`, i, x)
		}
		return b.String() + "}]"
	}
	got := carrying(t, []string{"body.**.password"}).Compare(exchange(answer(t, jsons(many(1))), answer(t, jsons(many(1))), answer(t, jsons(many(2)))))
	size := memoryOf(&got.Values)
	t.Logf("%d bytes", size)
	if len(got.Values) != profiledFields || size > 256<<10 {
		t.Errorf("%d fields, %d bytes", len(got.Values), size)
	}
	if v := got.Values[0]; v.Field != "body[].a" || !v.Places[0][2].Cut || v.Places[0][2].Length != 1<<20 || v.Places[0][0].print == v.Places[0][2].print {
		t.Errorf("%+v", v)
	}
}

func profiled(t testing.TB) *FieldProfile {
	p := NewProfiles()
	for i := range 300 {
		c := hostile("", "body.a", fmt.Sprintf("%d", i%20))
		for role := range 3 {
			seen := &c.Values[0].Places[0][role]
			seen.Text, seen.Number = fmt.Sprintf(`"%d"`, i%20), float64(i-100)*1.5
		}
		p.Add("GET /a", c)
	}
	return p.Profile("GET /a", "body.a")
}

func TestProfilesAreWrittenAndReadBack(t *testing.T) {
	p := profiled(t)
	blob, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	read := &FieldProfile{Route: "GET /a", Field: "body.a"}
	if err := read.UnmarshalBinary(blob); err != nil {
		t.Fatal(err)
	}
	again, _ := read.MarshalBinary()
	if string(again) != string(blob) || read.Exchanges != 300 || !reflect.DeepEqual(read.Roles[2].Values.List(), p.Roles[2].Values.List()) {
		t.Errorf("read back %+v", read)
	}
	for i := range blob {
		if err := new(FieldProfile).UnmarshalBinary(blob[:i]); err == nil {
			t.Fatalf("the first %d bytes of %d are taken", i, len(blob))
		}
	}
	kept := *read
	if err := read.UnmarshalBinary([]byte{99, 1}); err == nil || err.Error() != "decode profile: unknown form 99" || !reflect.DeepEqual(kept, *read) {
		t.Errorf("%v", err)
	}
}

// Whatever the bytes: no panic, and what is taken can be shown, merged and written again.
func FuzzProfileBlob(f *testing.F) {
	blob, _ := profiled(f).MarshalBinary()
	f.Add(blob)
	f.Add([]byte{profileForm})
	empty, _ := new(FieldProfile).MarshalBinary()
	f.Add(empty)
	f.Fuzz(func(t *testing.T, b []byte) {
		p := &FieldProfile{Field: "body.a"}
		if p.UnmarshalBinary(b) != nil {
			return
		}
		other := profiled(t)
		other.merge(p)
		for i := range p.Roles {
			r := &p.Roles[i]
			for _, n := range []*Numbers{&r.Numbers, &r.Lengths} {
				for _, q := range []float64{0, 0.5, 1} {
					if x, ok := n.Quantile(q); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
						t.Fatalf("quantile %v", x)
					}
				}
			}
			if _, err := json.Marshal(r.Values.List()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := json.Marshal(p.First); err != nil {
			t.Fatal(err)
		}
		again, err := p.MarshalBinary()
		if err != nil || new(FieldProfile).UnmarshalBinary(again) != nil {
			t.Fatal("what was read cannot be written and read again")
		}
	})
}

func FuzzAttributeBlob(f *testing.F) {
	all := NewAttributes(redactor(f))
	for i := range 50 {
		all.Add("GET /a", requested(fmt.Sprintf("/a?a=%d", i%7), map[string][]string{"X-Org": {"a"}}, fmt.Sprintf("body.f%d", i%3)))
	}
	blob, _ := all.Route("GET /a").MarshalBinary()
	f.Add(blob)
	f.Add([]byte{attributeForm})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &RouteAttributes{Route: "GET /a"}
		if r.UnmarshalBinary(b) != nil {
			return
		}
		for _, field := range r.fields {
			r.Separating(field.field)
		}
		r.List("body.f1")
		again, err := r.MarshalBinary()
		if err != nil || new(RouteAttributes).UnmarshalBinary(again) != nil {
			t.Fatal("what was read cannot be written and read again")
		}
		other := NewAttributes(redactor(t))
		other.Restore(r)
		c := requested("/a?a=1&b=2", map[string][]string{"X-Org": {"b"}}, "body.f1", "body.f9")
		other.Add("GET /b", c)
		other.Add("GET /a", c)
		other.Merge("GET /b", "GET /a")
		if _, err := other.Route("GET /b").MarshalBinary(); err != nil {
			t.Fatal(err)
		}
	})
}
