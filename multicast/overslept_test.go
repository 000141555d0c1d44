package multicast

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// oversleeping is a way whose deadline is noticed late.
type oversleeping struct{ late time.Duration }

func (w oversleeping) ask(_ *flight, deadline time.Time, on *progress) (*http.Response, error) {
	on.connected(false)
	time.Sleep(time.Until(deadline) + w.late)
	return nil, fmt.Errorf("read: %w", os.ErrDeadlineExceeded)
}

func (oversleeping) close()  {}
func (oversleeping) forget() {}

// A machine that stands still while shadows are asked, as one that is moved, must not have the slower of them taken for one
// that does not answer: its answer may have waited in the socket when its time was over. A candidate that hangs is one.
func TestWhoStoodStillBlamesNoShadow(t *testing.T) {
	for _, c := range []struct {
		late    time.Duration
		outcome Outcome
		unknown Reason // "": compared
	}{
		{0, OutcomeTimeout, ""},
		{100 * time.Millisecond, OutcomeTimeout, ""}, // a machine that has much to do
		{2 * time.Second, OutcomeCancelled, ReasonCancelled},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPaced(t, 64, time.Millisecond)
			setup := p.proxy.setup.Load()
			setup.shadows[Candidate].way = oversleeping{c.late}
			const asked = circuitFailures - 1
			p.offerMany(asked)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			counts := p.proxy.Counts()
			if counts.Shadow["candidate"].Outcome[c.outcome] != asked || counts.Shadow["secondary"].Outcome[OutcomeOK] != asked {
				t.Errorf("%s late: %+v", c.late, counts.Shadow)
			}
			if c.unknown == "" && counts.Compared != asked || c.unknown != "" && counts.Unknown[c.unknown] != asked {
				t.Errorf("%s late: compared %d, unknown %v", c.late, counts.Compared, counts.Unknown)
			}
			if failures := counts.Circuit["candidate"].Failures; (failures > 0) != (c.outcome == OutcomeTimeout) {
				t.Errorf("%s late: the circuit has seen %d failures", c.late, failures)
			}
			p.stop()
		})
	}
}
