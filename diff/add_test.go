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

	"github.com/google/go-cmp/cmp"
)

// What one proxy would have counted is what several count together, and so is the evidence of each hypothesis.
func TestCountsOfSeveralProxiesAddUpToThoseOfOne(t *testing.T) {
	for m := 2; m <= 4; m++ {
		rnd := rand.New(rand.NewPCG(uint64(m), 1))
		whole, parts := NewTally(nil), make([]*Tally, m)
		for p := range parts {
			parts[p] = NewTally(nil)
		}
		for _, c := range traffic(uint64(m), 900) {
			whole.Add(c)
			parts[rnd.IntN(m)].Add(c)
		}
		one, _ := whole.Cut()
		list := make([]*Tallies, m)
		for p := range parts {
			list[p], _ = parts[p].Cut()
		}
		sum := Add(list...)
		if err := sum.Check(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(unnumbered(t, timeless(one)), unnumbered(t, timeless(sum))); d != "" {
			t.Errorf("%d proxies: %s", m, d)
		}
		a, _ := Judge(one, DefaultConfig())
		b, _ := Judge(sum, DefaultConfig())
		if a.EquivBounds != b.EquivBounds || a.Word != b.Word || a.Compared != b.Compared {
			t.Errorf("%d proxies: %s within %v, one alone %s within %v", m, b.Word, b.EquivBounds, a.Word, a.EquivBounds)
		}
		slices.Reverse(list)
		if d := cmp.Diff(unnumbered(t, timeless(sum)), unnumbered(t, timeless(Add(list...)))); d != "" {
			t.Errorf("%d proxies in another order: %s", m, d)
		}
	}
}

// timeless are tallies without their minutes, and without the turns of traits: their order is each proxy's own.
func timeless(all *Tallies) *Tallies {
	plain := Add(all, &Tallies{})
	plain.Total.Minutes, plain.Total.Latency.Minutes, plain.Transport.Minutes = Minutes{}, Minutes{}, Minutes{}
	for _, r := range plain.Routes {
		r.Minutes, r.Latency.Minutes = Minutes{}, Minutes{}
	}
	for _, f := range plain.Fields {
		f.TraitTurns, f.TraitLast = 0, 0
		for i := range f.Tests {
			f.Tests[i].Minutes = Minutes{}
		}
	}
	return plain
}

// No two hypotheses of a sum share a number, whatever is on which proxy, and which of two shadows is called candidate has
// no part in them.
func TestNumbersOfASumAreDistinct(t *testing.T) {
	var list, exchanged []*Tallies
	for p := range 3 {
		one, other := NewTally(nil), NewTally(nil)
		for _, c := range traffic(uint64(10+p), 40*(p+1)) {
			one.Add(c)
			s := *c
			s.CandidateUp, s.ControlUp, s.Raw, s.Noise = c.ControlUp, c.CandidateUp, c.Noise, c.Raw
			s.Result = map[Result]Result{CandidateOnly: ControlOnly, ControlOnly: CandidateOnly}[c.Result]
			s.Fields = slices.Clone(c.Fields)
			for i, f := range c.Fields {
				s.Fields[i].Candidate, s.Fields[i].Control = f.Control, f.Candidate
				s.Fields[i].CandidatePlaces, s.Fields[i].ControlPlaces = f.ControlPlaces, f.CandidatePlaces
				s.Fields[i].Drift = -f.Drift
			}
			other.Add(&s)
		}
		a, _ := one.Cut()
		b, _ := other.Cut()
		list, exchanged = append(list, a), append(exchanged, b)
	}
	sum := orders(Add(list...))
	if d := cmp.Diff(sum, orders(Add(exchanged...))); d != "" {
		t.Errorf("with the names exchanged: %s", d)
	}
	seen := map[int]string{}
	for name, j := range sum {
		if j > 0 && seen[j] != "" {
			t.Errorf("%s and %s share number %d", name, seen[j], j)
		}
		seen[j] = name
		least := 0
		for p, t := range list {
			if o := orders(t)[name]; o > 0 && (least == 0 || (o-1)*3+p+1 < least) {
				least = (o-1)*3 + p + 1
			}
		}
		if j != least {
			t.Errorf("%s is number %d, want %d", name, j, least)
		}
	}
}

// What one proxy has confirmed is confirmed of the sum only where the sum bears it out; a list of one is that one.
func TestASumIsConfirmedAnew(t *testing.T) {
	cfg := DefaultConfig()
	burst, calm := NewTally(nil), NewTally(nil)
	for range 20 {
		burst.Add(compared("GET /a", at("body.x", 1, 0)))
	}
	all, _ := burst.Cut()
	_, fresh := Judge(all, cfg)
	burst.Confirm(fresh)
	if len(fresh) == 0 {
		t.Fatal("twenty differences of the candidate alone confirm nothing")
	}
	alone, _ := burst.Cut()
	if Add(alone) != alone {
		t.Error("the sum of one is another")
	}
	none, _ := Judge(Add(), cfg)
	same(t, "the sum of none", none.Compared, int64(0))

	quiet, _ := calm.Cut()
	v, fresh := Judge(Add(alone, quiet), cfg)
	if v.Word != Different || len(fresh) == 0 {
		t.Errorf("beside a proxy that has seen nothing it is %s, and %d are confirmed", v.Word, len(fresh))
	}
	for i := range 400 {
		calm.Add(compared("GET /a", at("body.x", Level(i%2), Level(1-i%2))))
	}
	noisy, _ := calm.Cut()
	v, fresh = Judge(Add(alone, noisy), cfg)
	if v.Word != Undecided || len(fresh) > 0 {
		t.Errorf("among the noise of another proxy it is %s, and %d are confirmed", v.Word, len(fresh))
	}
}

// No noise is marked in more than α of the runs that several proxies share, looked at again and again, where a plain
// threshold marks some in most of them.
func TestASumOfProxiesMarksNoNoise(t *testing.T) {
	const runs, requests, proxies = 40, 600, 3
	marked, naive := 0, 0
	for run := range runs {
		rnd := rand.New(rand.NewPCG(uint64(run), 77))
		var tallies [proxies]*Tally
		for p := range tallies {
			tallies[p] = NewTally(nil)
		}
		alarm, plain := false, false
		for i := range requests {
			var fields []FieldComparison
			for k := range min(40, 1+i/10) {
				if differs := rnd.IntN(10); differs < 2 {
					fields = append(fields, at(fmt.Sprintf("body.noise%d", k), Level(differs), Level(1-differs)))
				}
			}
			p := rnd.IntN(proxies)
			tallies[p].Add(compared(fmt.Sprintf("GET /%d", p%2), fields...))
			if i%40 != 39 {
				continue
			}
			var list []*Tallies
			for _, t := range tallies {
				all, _ := t.Cut()
				list = append(list, all)
			}
			v, fresh := Judge(Add(list...), DefaultConfig())
			alarm = alarm || len(fresh) > 0
			plain = plain || slices.ContainsFunc(v.Differences, func(f Finding) bool { return f.LnE >= math.Log(20) })
		}
		if alarm {
			marked++
		}
		if plain {
			naive++
		}
	}
	t.Logf("noise was marked in %d of %d runs, and would have been in %d by an evidence of 20", marked, runs, naive)
	if marked > runs*5/100 {
		t.Errorf("noise was marked in %d of %d runs", marked, runs)
	}
	if naive < runs/4 {
		t.Errorf("a plain threshold would have marked noise in %d of %d runs: there is none to be told apart", naive, runs)
	}
}

// filled sets everything that can be set below a value.
func filled(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[time.Time]():
			v.Set(reflect.ValueOf(noon.Add(time.Duration(*n) * time.Second)))
			return
		case reflect.TypeFor[Sketch]():
			v.Addr().Interface().(*Sketch).Add(time.Duration(*n) * time.Millisecond)
			return
		}
		for i := range v.NumField() {
			filled(v.Field(i), n)
		}
		if c, ok := v.Addr().Interface().(*Course); ok {
			c.Used = courseSpans
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), n)
	case reflect.Array:
		for i := range v.Len() {
			filled(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]int64{"stale": *n}))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(*n)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Int8:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("a")
	default:
		panic("tallies hold a " + v.Kind().String())
	}
}

// nothingIn lists the places below a value that hold nothing.
func nothingIn(v reflect.Value, at string) (places []string) {
	switch {
	case v.IsZero():
		return []string{at}
	case v.Kind() == reflect.Pointer:
		return nothingIn(v.Elem(), at)
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() && v.Type() != reflect.TypeFor[Sketch]():
		for i := range v.NumField() {
			places = append(places, nothingIn(v.Field(i), at+"."+v.Type().Field(i).Name)...)
		}
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		for i := range v.Len() {
			places = append(places, nothingIn(v.Index(i), fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	return places
}

// Everything that a tally holds is added, but for what is confirmed, and is in the JSON of the API under a name.
func TestNothingOfATallyIsForgotten(t *testing.T) {
	one, n := &Tallies{}, int64(0)
	filled(reflect.ValueOf(one).Elem(), &n)
	text, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	again := &Tallies{}
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	if twice, err := json.Marshal(again); err != nil || string(twice) != string(text) {
		t.Errorf("read again it is %s, %v; was %s", twice, err, text)
	}
	for _, place := range nothingIn(reflect.ValueOf(again).Elem(), "") {
		t.Errorf("the JSON leaves out %s", place)
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	for _, key := range keysIn(read) {
		if key != strings.ToLower(key) {
			t.Errorf("%q is no name for the API", key)
		}
	}
	for _, place := range nothingIn(reflect.ValueOf(Add(one, &Tallies{})).Elem(), "") {
		switch {
		case strings.HasSuffix(place, ".Confirmed"), place == ".Transport.Order", place == ".Total.Route":
		default:
			t.Errorf("Add forgets %s", place)
		}
	}
}

// keysIn lists the names in a JSON value.
func keysIn(v any) (keys []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			keys = append(append(keys, key), keysIn(value)...)
		}
	case []any:
		for _, value := range v {
			keys = append(keys, keysIn(value)...)
		}
	}
	return keys
}

// What came from elsewhere and is no run's is refused.
func TestTalliesFromElsewhereAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{"routes":[null]}`:                                                                     "route 0 is null",
		`{"routes":[{"route":"b"},{"route":"a"}]}`:                                              `route "a" is not in its place`,
		`{"routes":[{"route":"a"},{"route":"a"}]}`:                                              "or there twice",
		`{"routes":[{"route":"a","compared":-1}]}`:                                              `route "a" has counts that cannot be`,
		`{"routes":[],"fields":[null]}`:                                                         "field 0 is null",
		`{"routes":[],"fields":[{"route":"a","field":"x","tests":[]}]}`:                         `is of route "a", which is not there`,
		`{"routes":[{"route":"a"}],"fields":[{"route":"a","field":"x","tests":[{"both":-1}]}]}`: `field "x" of route "a" has counts that cannot be`,
		`{"routes":[{"route":"a"}],"fields":[{"route":"a","field":"x","tests":[]},{"route":"a","field":"b","tests":[]}]}`: `field "b" of route "a" is not in its place`,
	} {
		var all Tallies
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := all.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
