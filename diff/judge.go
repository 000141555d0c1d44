package diff

// Judge turns one run's counts into its verdict, and returns what is confirmed by these counts and was not before: the
// caller hands that to Tally.Confirm, so that it stays. It is a function of its arguments alone. Who judges again and
// again uses a Watch.
func Judge(t *Tallies, cfg Config) (*Verdict, []Confirmed) { return NewWatch(cfg).Judge(t) }

// Watch judges the same run again and again, and remembers what has not changed since. It is not safe for concurrent
// use.
type Watch struct{ cfg Config }

// NewWatch returns a Watch that has seen nothing.
func NewWatch(cfg Config) *Watch { return &Watch{cfg: cfg} }

// Judge is Judge for the next state of the run.
func (w *Watch) Judge(t *Tallies) (*Verdict, []Confirmed) { panic("diff: being built") }
