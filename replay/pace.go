package replay

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Pace is how fast requests are asked. The zero value has the gaps that were recorded.
type Pace struct {
	Speed float64 // times as fast as recorded; 0: 1
	Rate  float64 // requests a second, whatever was recorded; 0: as recorded
	Full  bool    // as fast as they are answered
}

// untimed is the rate of requests that were recorded without a time.
const untimed = 10

// ParseSpeed reads "2x", "0.5x" or "max".
func (p *Pace) ParseSpeed(text string) error {
	if text == "max" {
		p.Full = true
		return nil
	}
	speed, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(speed > 0 && speed <= 1e6) {
		return fmt.Errorf("must be 2x, 0.5x or max, is %q", text)
	}
	p.Speed = speed
	return nil
}

// ParseRate reads "100/s", "100" or "6000/m".
func (p *Pace) ParseRate(text string) error {
	number, unit, _ := strings.Cut(text, "/")
	per := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	rate, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || per == 0 || !(rate > 0 && rate <= 1e6) {
		return fmt.Errorf("must be a rate such as 100/s or 30/m, is %q", text)
	}
	p.Rate = rate / per
	return nil
}

// String says it for people.
func (p Pace) String() string {
	switch {
	case p.Full:
		return "as fast as they are answered"
	case p.Rate > 0:
		return fmt.Sprintf("%g requests/s", p.Rate)
	case p.Speed > 0 && p.Speed != 1:
		return fmt.Sprintf("%g times as fast as recorded", p.Speed)
	}
	return "with the gaps that were recorded"
}

// clock tells when the next request is due. It is for one goroutine.
type clock struct {
	begun bool
	start time.Time // when the first one was asked, later by what it has fallen behind
	first time.Time // when that was recorded
	last  time.Time // the latest recorded time so far
	due   time.Time // of the last one
}

// lag is how far the clock may be behind before it gives the time up: what comes then is not asked in a flood.
const lag = time.Second

// anew begins another pass over the same times.
func (c *clock) anew() { *c = clock{due: c.due} }

// wait waits until the request that was recorded at a time is due, and answers with the time that was given up.
func (c *clock) wait(ctx context.Context, p Pace, recorded time.Time) (behind time.Duration, err error) {
	if p.Full {
		return 0, ctx.Err()
	}
	now := time.Now()
	if !c.begun {
		c.begun, c.start, c.first, c.last = true, now, recorded, recorded
		c.due = now
		return 0, ctx.Err()
	}
	due := c.next(p, recorded)
	if behind = now.Sub(due); behind > lag {
		c.start = c.start.Add(behind)
		due = now
	} else {
		behind = 0
	}
	c.due = due
	wait := due.Sub(now)
	if wait <= 0 {
		return behind, ctx.Err()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return behind, nil
	case <-ctx.Done():
		return behind, ctx.Err()
	}
}

// next is when a request is due. Recorded times may go back a little, as in a log that is written at the ends of requests.
func (c *clock) next(p Pace, recorded time.Time) time.Time {
	switch {
	case p.Rate > 0:
		return c.due.Add(time.Duration(float64(time.Second) / p.Rate))
	case recorded.IsZero() || c.first.IsZero():
		return c.due.Add(time.Second / untimed)
	}
	if recorded.After(c.last) {
		c.last = recorded
	}
	speed := p.Speed
	if speed == 0 {
		speed = 1
	}
	return c.start.Add(time.Duration(float64(c.last.Sub(c.first)) / speed))
}
