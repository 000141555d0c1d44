package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"shadowdiff/tools/rig"
)

// soak is a run: the primary, both shadows and the clients are in this process, shadowdiff is a child.
type soak struct {
	cfg       config
	out       io.Writer
	content   content
	primary   *http.Server
	idlers    pool // of the primary
	candidate *shadow
	secondary *shadow
	service   *rig.Service
	clients   *clients
	yaml      func(queue int) string // the configuration
	idle      reading                // before the load

	mu     sync.Mutex // guards what follows
	memory []resident
}

// run does everything, and returns what is wrong with shadowdiff; the error is what kept it from being tried.
func run(ctx context.Context, cfg config, out io.Writer) (faults []string, err error) {
	dir, err := os.MkdirTemp("", "shadowdiff-soak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &soak{cfg: cfg, out: out, content: newContent()}
	defer s.close()
	if err := s.open(ctx, dir); err != nil {
		return nil, err
	}
	if err := s.warm(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%d processors, %d clients, %v, shadow.timeout %v, seed %d\nidle: %v\n",
		runtime.NumCPU(), cfg.clients, cfg.time, cfg.timeout, cfg.seed, s.idle)
	if err = s.load(ctx); err == nil {
		faults, err = s.judge(ctx)
	}
	if err != nil && ctx.Err() == nil && s.gone() {
		return []string{fmt.Sprintf("the process ended in the middle (%v): %q", s.service.Err(), s.service.Lines())}, nil
	}
	return faults, err
}

// gone tells whether shadowdiff has ended, or does so at this moment.
func (s *soak) gone() bool {
	select {
	case <-s.service.Done():
		return true
	case <-time.After(time.Second):
		return false
	}
}

func (s *soak) open(ctx context.Context, dir string) (err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	quiet := log.New(io.Discard, "", 0)
	s.primary = &http.Server{Handler: s.content, ErrorLog: quiet}
	s.idlers.watch(s.primary)
	go func() { _ = s.primary.Serve(l) }()
	patience := 5 * s.cfg.timeout
	for _, to := range []**shadow{&s.candidate, &s.secondary} {
		if *to, err = newShadow(s.content, patience); err != nil {
			return err
		}
		(*to).server.ErrorLog = quiet
	}
	limits := limits{request: 64 << 10, response: 256 << 10}
	s.yaml = func(queue int) string {
		return fmt.Sprintf(`primary: http://%s
secondary: http://%s
candidate: http://%s
routes: [{match: POST /post, shadow: true}]
shadow: {timeout: %v, concurrency: 32, queue: %d, max_request_body: %d, max_response_body: %d, memory: 32MiB}
`, l.Addr(), s.secondary.addr, s.candidate.addr, s.cfg.timeout, queue, limits.request, limits.response)
	}
	if s.service, err = rig.StartService(ctx, s.cfg.binary, dir, s.yaml(128)); err != nil {
		return err
	}
	s.clients = newClients(s.service.Clients, s.content, limits)
	return nil
}

func (s *soak) close() {
	if s.service != nil {
		_ = s.service.Stop(0)
	}
	if s.primary != nil {
		_ = s.primary.Close()
	}
	for _, shadow := range []*shadow{s.candidate, s.secondary} {
		if shadow != nil {
			shadow.close()
		}
	}
}

// keptIdle is how long the proxy keeps an idle connection to a shadow. It need not notice before that the other side has
// closed it.
const keptIdle = 3 * time.Second

// warm lets each part of the process be used once, and reads how it stands when nothing goes through it and idle
// connections are gone.
func (s *soak) warm(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s.clients.run(short, 8, s.cfg.seed+1)
	for deadline := time.Now().Add(keptIdle + time.Second); time.Now().Before(deadline); {
		s.closeIdle()
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	var err error
	s.idle, err = read(ctx, s.service, 0)
	return err
}

// closeIdle closes the connections that the proxy keeps, as their other side.
func (s *soak) closeIdle() {
	s.idlers.close()
	s.candidate.idlers.close()
	s.secondary.idlers.close()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load lets everything happen at once for the time that was asked for.
func (s *soak) load(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, s.cfg.time)
	defer cancel()
	var all sync.WaitGroup
	errs := make(chan error, 4)
	for _, part := range []func(context.Context) error{s.changeMoods, s.operate, s.watch, s.weigh} {
		all.Go(func() {
			if err := part(ctx); err != nil {
				errs <- err
				cancel()
			}
		})
	}
	s.clients.run(ctx, s.cfg.clients, s.cfg.seed)
	all.Wait()
	close(errs)
	return cmp.Or(<-errs, parent.Err())
}

// changeMoods keeps the shadows' moods to the schedule.
func (s *soak) changeMoods(ctx context.Context) error {
	begin, plan := time.Now(), newSchedule(s.cfg.time)
	for ctx.Err() == nil {
		candidate, secondary, harsh := plan.at(time.Since(begin))
		if err := errors.Join(s.candidate.set(candidate, harsh), s.secondary.set(secondary, harsh)); err != nil {
			return err
		}
		_ = pause(ctx, 20*time.Millisecond)
	}
	return errors.Join(s.candidate.set(hanging, true), s.secondary.set(hanging, true)) // what is under way must end all the same
}

// operate does what an operator may do at any time: it turns shadowing off and on, and has the configuration read again, one
// that is changed and one that is wrong.
func (s *soak) operate(ctx context.Context) error {
	every := newSchedule(s.cfg.time).cycle / 6
	for n := 0; pause(ctx, every) == nil; n++ {
		var err error
		switch n % 3 {
		case 0:
			err = s.service.SetShadowing(ctx, false)
			_ = pause(ctx, 100*time.Millisecond)
			err = cmp.Or(err, s.service.SetShadowing(context.WithoutCancel(ctx), true))
		case 1:
			err = s.service.Reload(ctx, s.yaml(100+n%10))
		default:
			if s.service.Reload(ctx, s.yaml(-1)) == nil {
				err = errors.New("a configuration that is wrong was taken")
			}
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("operating it: %w", err)
		}
	}
	return nil
}

// watch prints a line now and then.
func (s *soak) watch(ctx context.Context) error {
	begin := time.Now()
	for pause(ctx, s.cfg.every) == nil {
		now, err := read(ctx, s.service, time.Since(begin))
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("%w: %q", err, s.service.Lines())
		}
		if err == nil {
			_, errs, _ := s.clients.seen()
			fmt.Fprintf(s.out, "%v; client errors: %v\n", now, errs)
		}
	}
	return nil
}

// weigh notes the memory four times a second.
func (s *soak) weigh(ctx context.Context) error {
	begin := time.Now()
	for pause(ctx, 250*time.Millisecond) == nil {
		rss, err := rig.RSS(s.service.PID())
		if err != nil {
			return fmt.Errorf("the process is gone: %w: %q", err, s.service.Lines())
		}
		s.mu.Lock()
		s.memory = append(s.memory, resident{time.Since(begin), rss})
		s.mu.Unlock()
	}
	return nil
}

// judge waits until the process is idle again, for as long as that may take, and tells what is wrong.
func (s *soak) judge(ctx context.Context) (faults []string, err error) {
	now, took, err := s.settle(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.out, "idle %v after the load: %v\n", took.Round(time.Millisecond), now)
	faults = left(s.idle, now)
	early, late, fault := growth(s.memory, s.cfg.time)
	tenth := s.cfg.time / 10
	fmt.Fprintf(s.out, "RSS at %v %s, at %v %s; from 10 %% to 40 %% of the time %s, from 70 %% to the end %s (medians)\n",
		tenth, mib(memoryOf(s.memory, tenth, tenth/4)), s.cfg.time, mib(memoryOf(s.memory, s.cfg.time-tenth/4, time.Hour)),
		mib(early), mib(late))
	if fault != "" {
		faults = append(faults, fault)
	}
	faults = append(faults, known(now.counts, s.clients.sent.Load(), s.clients.heads.Load(), s.candidate.asked.Load(), s.secondary.asked.Load())...)
	for role, leg := range now.counts.Shadow {
		fmt.Fprintf(s.out, "%s: %d sent: %v\n", role, leg.Sent, leg.Outcome)
	}
	kinds, errs, first := s.clients.seen()
	fmt.Fprintf(s.out, "clients: %v; errors: %v\n", kinds, errs)
	if errs.Sum() > 0 {
		faults = append(faults, fmt.Sprintf("client errors: %v", errs))
		faults = append(faults, first...)
	}
	faults = append(faults, s.recorded(ctx, now.counts.Compared)...)
	return append(faults, s.end()...), nil
}

// settle waits until nothing is left: for shadow.timeout and a second at most, and where only descriptors are left until
// idle connections are gone.
func (s *soak) settle(ctx context.Context) (now reading, took time.Duration, err error) {
	begin := time.Now()
	for {
		s.closeIdle()
		now, err = read(ctx, s.service, s.cfg.time+time.Since(begin))
		took = time.Since(begin)
		if err != nil || len(left(s.idle, now)) == 0 {
			return now, took, err
		}
		patience := s.cfg.timeout + time.Second
		if now.goroutines <= s.idle.goroutines+slack && len(now.counts.Faults()) == 0 {
			patience = max(patience, keptIdle+time.Second)
		}
		if took > patience {
			return now, took, nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return now, took, err
		}
	}
}

// recorded asks whether the store has what was compared; it writes once a second.
func (s *soak) recorded(ctx context.Context, compared int64) []string {
	var has int64
	for range 50 {
		var err error
		if has, err = s.service.Judged(ctx); err != nil {
			return []string{err.Error()}
		}
		if has == compared {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			break
		}
	}
	return []string{fmt.Sprintf("%d were compared, and the store has %d", compared, has)}
}

// end stops the process, which must do so in order.
func (s *soak) end() []string {
	begin := time.Now()
	err := s.service.Stop(20 * time.Second)
	fmt.Fprintf(s.out, "stopped in %v\n", time.Since(begin).Round(time.Millisecond))
	if err != nil {
		return []string{fmt.Sprintf("it ended with %v: %q", err, s.service.Lines())}
	}
	return nil
}
