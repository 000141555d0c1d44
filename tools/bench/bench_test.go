package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"shadowdiff/tools/rig"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		values []time.Duration
		p      float64
		want   time.Duration
	}{
		{nil, 0.99, 0},
		{hundred[:1], 0.5, 1},
		{hundred[:2], 0.5, 1},
		{hundred[:3], 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 0.991, 100},
		{hundred, 1, 100},
		{hundred, 0, 1},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("of %d values at %v: %d, want %d", len(c.values), c.p, got, c.want)
		}
	}
}

func TestParseResponse(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want response
		size int
		err  string
	}{
		"nothing":      {in: ""},
		"half a head":  {in: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"},
		"half a body":  {in: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"},
		"whole":        {in: "HTTP/1.1 200 OK\r\nA: b\r\ncontent-length:  2 \r\n\r\nab", want: response{status: 200, body: []byte("ab")}, size: 48},
		"with more":    {in: "HTTP/1.1 503 No\r\nContent-Length: 1\r\n\r\nabc", want: response{status: 503, body: []byte("a")}, size: 39},
		"the last":     {in: "HTTP/1.0 404 Not Found\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", want: response{status: 404, body: []byte{}, last: true}, size: 64},
		"no length":    {in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", err: "the response has no length"},
		"a bad length": {in: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", err: `the length is "-1"`},
		"garbage":      {in: "hello there\r\n\r\n", err: `the status line is "hello there"`},
		"no status":    {in: "HTTP/1.1 abc OK\r\n\r\n", err: `the status line is "HTTP/1.1 abc OK"`},
	} {
		res, size, err := parseResponse([]byte(c.in))
		if err != nil && err.Error() != c.err || err == nil && c.err != "" {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
		if size != c.size || size > 0 && !reflect.DeepEqual(res, c.want) {
			t.Errorf("%s: %+v of %d bytes", name, res, size)
		}
	}
}

// Whatever comes, the parser takes no more than there is, and the same when it comes in pieces.
func FuzzParseResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"))
	f.Add(newAnswer(300, "primary", noisy).bytes)
	f.Fuzz(func(t *testing.T, in []byte) {
		res, size, err := parseResponse(in)
		if size < 0 || size > len(in) || err != nil && size != 0 {
			t.Fatalf("size %d of %d, %v", size, len(in), err)
		}
		if size == 0 {
			return
		}
		again, same, err := parseResponse(in[:size])
		if err != nil || same != size || !reflect.DeepEqual(again, res) {
			t.Fatalf("%+v, and %+v (%v) without what follows", res, again, err)
		}
		if _, less, _ := parseResponse(in[:size-1]); less != 0 {
			t.Fatalf("whole without its last byte")
		}
	})
}

func TestAnswers(t *testing.T) {
	for _, size := range []int{200, 2048, 20000} {
		for _, mode := range []string{same, noisy} {
			a := newAnswer(size, "primary", mode)
			first := slices.Clone(a.next(1, time.Unix(1, 0)))
			second := slices.Clone(a.next(2, time.Unix(2, 500)))
			res, n, err := parseResponse(first)
			if err != nil || n != len(first) || len(res.body) != size || !regexp.MustCompile(`^\{"id":"[0-9]{16}",.*\}\]\}$`).Match(res.body) {
				t.Fatalf("%s of %d bytes: %q, %v", mode, size, first, err)
			}
			if slices.Equal(first, second) != (mode == same) {
				t.Errorf("%s of %d bytes: two answers are %q and %q", mode, size, first, second)
			}
			other, _, _ := parseResponse(second)
			if !a.check(res.body) || !a.check(other.body) {
				t.Errorf("%s of %d bytes: an answer is not known again", mode, size)
			}
			other.body[size-4]++
			if a.check(other.body) || a.check(res.body[1:]) {
				t.Errorf("%s of %d bytes: what is no answer passes", mode, size)
			}
		}
	}
	if newAnswer(2048, "candidate", noisy).check(newAnswer(2048, "primary", noisy).bytes[300:]) {
		t.Error("the candidate has no fault")
	}
	equal, fault := newAnswer(2048, "candidate", same), newAnswer(2048, "candidate", noisy)
	if !newAnswer(2048, "primary", same).check(equal.bytes[equal.body:]) || newAnswer(2048, "primary", noisy).check(fault.bytes[fault.body:]) {
		t.Error("the candidate differs where answers are equal, or does not where it has a fault")
	}
}

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	files := make(map[string]bool)
	for _, row := range trials() {
		name := row.String()
		if row.pace.fixed {
			name += " fixed"
		}
		if seen[name] || files[profileName(row)] {
			t.Errorf("%q is twice", name)
		}
		seen[name], files[profileName(row)] = true, true
	}
	kept := chosen(trials(), regexp.MustCompile("100%, hanging"))
	var names []string
	for _, row := range kept {
		names = append(names, row.String())
	}
	want := []string{"bare ReverseProxy", "shadowdiff, 100%, hanging", "shadowdiff, shadowing off", "shadowdiff, 100%, hanging"}
	if !slices.Equal(names, want) {
		t.Errorf("kept %q, want %q", names, want)
	}
}

func TestBars(t *testing.T) {
	r := results{turns: make(map[trial][]figures)}
	add := func(row trial, f figures, rates ...int) {
		r.trials = append(r.trials, row)
		for _, n := range rates {
			f.requests, f.took = n, time.Second
			r.turns[row] = append(r.turns[row], f)
		}
	}
	fixed := pace{fixed: true}
	add(trial{proxy: bare}, figures{}, 1000, 500, 1000)
	add(trial{proxy: ours}, figures{}, 960, 480, 960)
	add(trial{proxy: ours, sample: "1%", shadow: same}, figures{}, 940, 470, 940)
	add(trial{proxy: ours, sample: "100%", shadow: same}, figures{counts: rig.Counts{Compared: 100}}, 430, 215, 430)
	add(trial{proxy: ours, sample: "100%", shadow: noisy},
		figures{counts: rig.Counts{Compared: 90, Dropped: rig.Words{"queue": 10}}}, 500, 250, 500)
	add(trial{proxy: ours, sample: "100%", shadow: hanging}, figures{most: map[string]int64{"candidate": 65, "secondary": 3}}, 850, 425, 850)
	add(trial{proxy: ours, sample: "100%", shadow: slow}, figures{errors: map[string]int{"status 502": 1}}, 840, 420, 840)
	add(trial{proxy: ours, pace: fixed}, figures{quiet: []time.Duration{2 * time.Millisecond}}, 1)
	add(trial{proxy: ours, sample: "100%", shadow: hanging, pace: fixed}, figures{quiet: []time.Duration{3 * time.Millisecond}}, 1)
	got := make(map[string]string)
	for _, b := range r.bars(64) {
		got[b.text] = b.figure + " " + b.verdict
	}
	for text, want := range map[string]string{
		"requests/s, shadowing off: at least 0.95 of bare":                                                         "0.96 met",
		"requests/s, 1 %, healthy shadows: at least 0.95 of bare":                                                  "0.94 NOT MET",
		"requests/s, 100 %, healthy, equal answers: at least 0.42 of bare, at least 99 % compared":                 "0.43, 100.0 % met",
		"requests/s, 100 %, healthy, equal answers: at least 0.50 of bare (goal), at least 99 % compared":          "0.43, 100.0 % NOT MET",
		"requests/s, 100 %, healthy, noise and a difference: at least 0.50 of bare (goal), at least 99 % compared": "0.50, 90.0 % NOT MET",
		"requests/s, 100%, hanging shadows: at least 0.85 of bare":                                                 "0.85 met",
		"requests/s, 100%, slow shadows: at least 0.85 of bare":                                                    "0.84 NOT MET",
		"connections to a hanging shadow: at most 64":                                                              "65 NOT MET",
		"connections to a slow shadow: at most 64":                                                                 "0 met",
		"p99 at the fixed rate, hanging shadows: at most 1.10 of shadowing off":                                    "1.50 NOT MET",
		"p99 at the fixed rate, slow shadows: at most 1.10 of shadowing off":                                       " not measured",
		"errors seen by clients of shadowdiff: none":                                                               "3 NOT MET",
	} {
		if got[text] != want {
			t.Errorf("%s: %q, want %q", text, got[text], want)
		}
	}
}

// What a processor that stood still has delayed is left out, and so is what came just after.
func TestUndisturbed(t *testing.T) {
	begin := time.Now()
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	took := newTally()
	for ms := range 10 { // each a millisecond long, from 0 to 9
		took.dues, took.latencies = append(took.dues, at(ms)), append(took.latencies, time.Millisecond+time.Duration(ms))
	}
	got := undisturbed(took, []hole{{at(3).Add(500 * time.Microsecond), at(5).Add(500 * time.Microsecond)}, {at(20), at(30)}})
	want := []time.Duration{0, 1, 2, 7, 8, 9}
	for i := range want {
		want[i] += time.Millisecond
	}
	if !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
	if got := undisturbed(took, nil); len(got) != 10 {
		t.Errorf("without a hole left are %v", got)
	}
}

// A ratio is of all turns together; its interval is narrow where turns are alike, however fast the machine was in each, and
// wide where they are not.
func TestRatio(t *testing.T) {
	off, on := trial{proxy: ours, pace: pace{fixed: true}}, trial{proxy: ours, sample: "100%", shadow: slow, pace: pace{fixed: true}}
	turns := func(p99s ...int) (list []figures) {
		for _, ms := range p99s {
			f := figures{requests: 6000 / ms, took: time.Second}
			for range 100 {
				f.quiet = append(f.quiet, time.Duration(ms)*time.Millisecond)
			}
			list = append(list, f)
		}
		return list
	}
	r := results{turns: map[trial][]figures{off: turns(2, 2, 2, 2), on: turns(3, 3, 3, 3)}}
	if got := showRatio(r.ratio(on, off, p99)); got != "1.50" {
		t.Errorf("of turns that are alike: %s", got)
	}
	r.turns[on] = turns(2, 2, 2, 6)
	if got := r.ratio(on, off, p99); got != (ratio{1, 3, 3}) {
		t.Errorf("of turns that are not: %+v", got)
	}
	r.turns[off], r.turns[on] = turns(1, 2, 1, 2, 1, 2), turns(2, 4, 2, 4, 2, 4)
	if got := showRatio(r.ratio(on, off, rate)); got != "0.50" {
		t.Errorf("of a machine that is half as fast each second turn: %s", got)
	}
	if got := r.ratio(off, off, p99); got != (ratio{1, 1, 1}) {
		t.Errorf("of itself: %+v", got)
	}
	if got := showRatio(r.ratio(on, trial{proxy: direct}, p99)); got != "–" {
		t.Errorf("to nothing: %s", got)
	}
}

// Each row is once in a turn, in any order, but those that are asked a share of the bare proxy's rate come after it.
func TestTurnsBeginWithTheBareProxy(t *testing.T) {
	rows := trials()
	other := false
	for range 20 {
		order := shuffled(rows)
		if order[0] != (trial{proxy: bare}) {
			t.Fatalf("%s is first", order[0])
		}
		for _, row := range rows {
			if !slices.Contains(order, row) {
				t.Fatalf("%s has no turn", row)
			}
		}
		other = other || !slices.Equal(order, shuffled(rows))
	}
	if !other {
		t.Error("the order is always the same")
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	table{{"row", "µs"}, {"a", "1.0"}, {"bcde", "–"}}.write(&out)
	want := "| row  |  µs |\n| ---- | ---:|\n| a    | 1.0 |\n| bcde |   – |\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestWhereTheTimeGoes(t *testing.T) {
	all, calls, err := sumTraces(strings.NewReader(`File: shadowdiff
Type: cpu
Duration: 2.1s, Total samples = 40ms
-----------+-------------------------------------------------------
   10000us   internal/runtime/syscall.Syscall6
             syscall.RawSyscall6
             net.(*netFD).Write
             net/http.(*conn).serve
-----------+-------------------------------------------------------
   10000us   runtime.mallocgc
             shadowdiff/normalize.(*Normalizer).Document
             shadowdiff/diff.(*Comparer).Compare
-----------+-------------------------------------------------------
   20000us   runtime.scanobject
             runtime.gcBgMarkWorker.func2 (inline)
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"server": 10000, "normalising": 10000, "GC": 20000}
	if !reflect.DeepEqual(all, want) || !reflect.DeepEqual(calls, map[string]float64{"server": 10000}) {
		t.Errorf("got %v, of it calls %v", all, calls)
	}
	if _, _, err := sumTraces(strings.NewReader("File: x\n")); err == nil {
		t.Error("an empty profile is explained")
	}
}
