package multicast

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSamplingIsExact(t *testing.T) {
	for _, share := range []Share{0, 1, 10, 1000, 12_345, 33_300, 50_000, 50_001, 66_700, 99_000, 99_990, 99_999, Whole} {
		s, taken := newSampler(), 0
		for n := 1; n <= 300_000; n++ {
			if s.next(share) {
				taken++
			}
			if exact := float64(n) * float64(share) / float64(Whole); math.Abs(float64(taken)-exact) > 1 {
				t.Fatalf("%s: %d of %d taken, exactly %.3f", share, taken, n, exact)
			}
		}
	}
}

// Any window, wherever it begins, is within one stride's uncertainty at either end.
func TestSamplingIsEvenInEveryWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := Share(rapid.IntRange(1, int(Whole)-1).Draw(t, "share"))
		begin := rapid.IntRange(0, 5000).Draw(t, "begin")
		length := rapid.IntRange(1, 5000).Draw(t, "length")
		s, taken := newSampler(), 0
		for n := range begin + length {
			if s.next(share) && n >= begin {
				taken++
			}
		}
		if exact := float64(length) * float64(share) / float64(Whole); math.Abs(float64(taken)-exact) >= 2 {
			t.Fatalf("%d of %d taken, exactly %.3f", taken, length, exact)
		}
	})
}

// Traffic that alternates between two kinds is sampled from both alike: a fixed period would see one kind only.
func TestSamplingIsNotPeriodic(t *testing.T) {
	s, even, odd := newSampler(), 0, 0
	for n := range 1_000_000 {
		if s.next(1000) { // one in a hundred
			if n%2 == 0 {
				even++
			} else {
				odd++
			}
		}
	}
	if even+odd != 10_000 || math.Abs(float64(even-odd)) > 500 { // five standard deviations
		t.Errorf("%d even and %d odd", even, odd)
	}
}

func TestStickySampling(t *testing.T) {
	const keys = 20_000
	var tenth, half int
	for i := range keys {
		key := fmt.Sprint("user-", i)
		small, great := keeps(key, 10_000), keeps(key, 50_000)
		if small && !great {
			t.Fatalf("%s is taken at 10%% and not at 50%%", key)
		}
		if keeps(key, 0) || !keeps(key, Whole) {
			t.Fatalf("%s is taken at 0%%, or not at 100%%", key)
		}
		if small {
			tenth++
		}
		if great {
			half++
		}
	}
	for want, got := range map[float64]int{0.1: tenth, 0.5: half} {
		if sigma := math.Sqrt(keys * want * (1 - want)); math.Abs(float64(got)-keys*want) > 5*sigma {
			t.Errorf("%d of %d keys taken, wanted about %.0f", got, keys, keys*want)
		}
	}
}

func TestSampledOnTheWire(t *testing.T) {
	s := newStage(t, nil, func(c *Config) { c.Sample = 25_000 })
	for range 40 {
		s.get("/a")
	}
	for range 10 {
		s.exchange()
	}
	s.counts(Counts{Requests: 40, Skipped: map[Reason]int64{ReasonNotSampled: 30}, Exchanged: 10, Compared: 10})
	if n := len(s.upstream[Candidate].requests()); n != 10 {
		t.Errorf("the candidate was asked %d times", n)
	}
}

// A route has its own counter, with its own rate or the default one.
func TestEachRouteCountsForItself(t *testing.T) {
	s := newStage(t, nil, func(c *Config) {
		fifth := Share(20_000)
		c.Sample = 50_000
		c.Routes = []RouteConfig{{Match: "/fifth/*", Sample: &fifth}, {Match: "/half/*"}}
	})
	for range 20 {
		s.get("/fifth/a")
		s.get("/half/a")
		s.get("/rest")
	}
	routes := make(map[string]int)
	for range 24 {
		routes[s.exchange().Route]++
	}
	if routes["/fifth/*"] != 4 || routes["/half/*"] != 10 || routes[""] != 10 {
		t.Errorf("sampled by route: %v", routes)
	}
	s.counts(Counts{Requests: 60, Skipped: map[Reason]int64{ReasonNotSampled: 36}, Exchanged: 24, Compared: 24})
}

func TestSampleByKey(t *testing.T) {
	for by, header := range map[string]string{"header.X-User": "X-User: %d", "cookie.sid": "Cookie: a=b; sid=%d"} {
		s := newStage(t, nil, func(c *Config) { c.Sample, c.SampleBy = 50_000, by })
		for range 3 {
			for user := range 20 {
				s.get(fmt.Sprintf("/%d", user), fmt.Sprintf(header, user))
			}
		}
		s.eventually("all are placed", func() bool { return s.proxy.Counts().Open == 0 })
		times := make(map[string]int)
		for range s.proxy.Counts().Compared {
			times[s.exchange().Request.Target]++
		}
		for target, n := range times {
			if n != 3 {
				t.Errorf("by %s: %s was sampled %d times of 3", by, target, n)
			}
		}
		if len(times) == 0 || len(times) == 20 {
			t.Errorf("by %s: %d of 20 keys sampled", by, len(times))
		}
		for range 10 { // without the key, by count
			s.get("/none")
		}
		s.eventually("all are placed", func() bool { return s.proxy.Counts().Open == 0 })
		if c := s.proxy.Counts(); c.Compared != int64(3*len(times)+5) {
			t.Errorf("by %s: without the key %d of 10 sampled", by, c.Compared-int64(3*len(times)))
		}
	}
}

// net/http keeps Host apart from the other headers.
func TestHostIsAHeader(t *testing.T) {
	s := newStage(t, nil, func(c *Config) { c.Sample, c.SampleBy, c.RouteHeader = 50_000, "header.host", "host" })
	const hosts, times = 20, 3
	w := s.dial()
	for range times {
		for host := range hosts {
			w.send(fmt.Sprintf("GET /a HTTP/1.1\r\nHost: user-%d\r\n\r\n", host))
			w.response("GET")
		}
	}
	s.eventually("all are placed", func() bool { return s.proxy.Counts().Open == 0 })
	sampled := make(map[string]int)
	for range s.proxy.Counts().Compared {
		ex := s.exchange()
		if sampled[ex.Request.Host]++; ex.Route != ex.Request.Host {
			t.Errorf("a request to %s counts for %q", ex.Request.Host, ex.Route)
		}
	}
	for host, n := range sampled {
		if n != times {
			t.Errorf("%s was sampled %d times of %d", host, n, times)
		}
	}
	if len(sampled) == 0 || len(sampled) == hosts {
		t.Errorf("%d of %d hosts sampled", len(sampled), hosts)
	}
}

func TestRateChangesAtOnce(t *testing.T) {
	s := newStage(t, nil, func(c *Config) { c.Sample = 0 })
	s.get("/a")
	all, off := Whole, false
	if now := s.proxy.SetShadowing(nil, &all); now != (Shadowing{true, Whole}) {
		t.Errorf("in force: %+v", now)
	}
	s.get("/b")
	if ex := s.exchange(); ex.Request.Target != "/b" {
		t.Errorf("sampled %s", ex.Request.Target)
	}
	s.proxy.SetShadowing(&off, nil)
	s.get("/c")
	s.counts(Counts{
		Requests: 3, Exchanged: 1, Compared: 1, Skipped: map[Reason]int64{ReasonNotSampled: 1, ReasonDisabled: 1},
	})
}
