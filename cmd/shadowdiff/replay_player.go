package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/replay"
	"shadowdiff/store"
	"shadowdiff/web"
)

// player is one replay with the parts of the service that it takes: the proxy without a listener, comparing, the store.
type player struct {
	*replayOrder
	std stdio
	log *slog.Logger

	svc     *service
	replay  *replay.Replay
	journal *replay.Journal
	run     store.Run
	started time.Time
	screen  *screen
	bad     badLines
}

// open opens the store, begins the run, or goes on with it, and readies the files.
func (p *player) open() (err error) {
	p.svc = &service{log: p.log, names: new(normalize.Names), parts: parts{log: p.log}}
	p.svc.cfg.Store(&p.cfg)
	p.svc.loaded.Store(new(time.Now().UTC()))
	p.svc.enter(web.PhaseStarting)
	metrics := web.NewMetrics()
	var head replay.Head
	if p.resume {
		if p.journal, head, err = replay.Resume(p.journalFile, p.what.Files); err != nil {
			return err
		}
	}
	var deliver multicast.Deliver
	p.svc.proxy, err = multicast.New(p.cfg.Config, multicast.Deps{
		Log: p.log, Deliver: func() multicast.Deliver { return deliver },
		Observe: metrics.Observe, ObserveShadow: metrics.ObserveShadow,
	})
	if err != nil {
		return fmt.Errorf("setting up the proxy: %w", err)
	}
	p.svc.db, err = store.Open(p.cfg.Store, store.Deps{
		Log: p.log, Judge: p.cfg.Verdict, Counters: p.svc.proxy.Counts, MaxDecoded: p.cfg.maxDecoded(), Names: p.svc.names,
	})
	if err != nil {
		return err
	}
	if err := p.openAdmin(); err != nil { // before a run is begun in vain
		return err
	}
	to, err := p.begin(head)
	if err != nil {
		return err
	}
	if deliver = to.deliver; p.what.Recorded {
		if deliver, err = p.redacting(deliver); err != nil {
			return err
		}
	}
	p.svc.web = p.svc.newPages(p.cfg, metrics)
	p.bad = badLines{w: p.screen}
	p.replay = replay.New(p.what, p.svc.proxy.Play, p.journal, p.bad.tell)
	return nil
}

// openAdmin takes the address for the dashboard, where it is to be shown.
func (p *player) openAdmin() (err error) {
	if !p.pages {
		return nil
	}
	if p.svc.admin, err = listen("the dashboard", p.cfg.Web.Listen); err != nil {
		return err
	}
	return p.cfg.Web.Reached(p.svc.admin.Addr())
}

// begin puts the run in force, and begins the journal of a replay that is new.
func (p *player) begin(head replay.Head) (*docket, error) {
	rules, err := p.svc.compile(p.cfg)
	if err != nil {
		return nil, err
	}
	b := store.Beginning{New: !p.resume, Name: p.name, By: "replay"}
	to, err := p.svc.begin(context.Background(), p.cfg, rules, b)
	if err != nil {
		return nil, err
	}
	p.run = p.svc.judging.Load().run
	if p.resume && p.run.ID != head.Run {
		return nil, fmt.Errorf("the run of the replay that was interrupted (id %d) cannot be gone on with: the candidate, the rules or the run in force are others since; begin the replay anew, without -resume", head.Run)
	}
	if !p.resume {
		if begun, ok := replay.Interrupted(p.journalFile); ok {
			p.screen.line(fmt.Sprintf("a replay into %s was interrupted after %s requests; this one begins anew, where -resume would have gone on",
				p.cfg.Store.Path, humanize.Comma(begun)))
		}
		p.journal, err = replay.NewJournal(p.journalFile, p.run.ID, p.what.Files)
	}
	return to, err
}

// redacting takes out of the shadows' answers what was taken out of the recorded one, which else would differ.
func (p *player) redacting(deliver multicast.Deliver) (multicast.Deliver, error) {
	places, err := p.what.Redacted()
	if err != nil {
		return nil, err
	}
	redactor, err := normalize.NewRedactor(append(places, p.cfg.Store.Redact...))
	if err != nil {
		return nil, err
	}
	redactor.MaxDecoded = max(redactor.MaxDecoded, p.cfg.maxDecoded())
	return func(ex *multicast.Exchange) {
		for i := range ex.Responses {
			if res := &ex.Responses[i]; res.Outcome == multicast.OutcomeOK {
				*res, _ = redactor.Response(res)
			}
		}
		deliver(ex)
	}, nil
}

// play asks what is to be asked, and tells what came of it.
func (p *player) play(ctx context.Context) int {
	p.started = time.Now()
	running := context.Background()
	p.svc.parts.start(running, "store", p.svc.db.Run)
	proxy := p.svc.parts.start(running, "proxy", p.svc.proxy.Run)
	select {
	case <-p.svc.proxy.Running():
	case <-proxy.done:
	}
	p.svc.enter(web.PhaseServing)
	if p.pages {
		p.svc.parts.start(running, "charts", p.svc.web.Run)
		p.svc.parts.start(running, "pages", p.svc.servePages)
		p.screen.line("the dashboard is at " + p.svc.AdminURL() + "/ until the replay ends")
	}
	shown := p.screen.show(func() string { return replayLine(p.replay.Progress(), p.screen.terminal) })
	err := p.replay.Run(ctx)
	shown()
	p.bad.end()
	out := p.outcome(ctx, err)
	if err == nil {
		err = p.journal.Remove()
	} else {
		err = p.journal.Close()
	}
	err = errors.Join(err, p.saveReport(&out), p.svc.parts.stop("pages"), p.svc.parts.stop("charts"))
	if err = errors.Join(err, p.svc.parts.stop("proxy"), p.svc.parts.stop("store"), p.svc.close()); err != nil && out.trouble == nil {
		out.code, out.trouble = exitTrouble, err
	}
	if err := p.tell(&out); err != nil {
		fmt.Fprintf(p.std.err, "shadowdiff replay: %s\n", err)
		return exitTrouble
	}
	return out.code
}

// errNothing is what becomes of a replay that asks nothing.
var errNothing = errors.New("the files hold no request that may be asked")

// tellNothing says what is left out, and why, where that is all: no run is begun, which would count as an attempt.
func (p *player) tellNothing(ctx context.Context) int {
	out := outcome{code: exitTrouble, trouble: errNothing, started: time.Now()}
	p.run.Name = p.name
	p.bad = badLines{w: p.screen}
	p.replay = replay.New(p.what, nil, nil, p.bad.tell) // it has nothing to play, and nothing to note
	if err := p.replay.Run(ctx); err != nil {
		out.trouble = err
	}
	p.bad.end()
	out.ended = time.Now()
	if err := p.tell(&out); err != nil {
		fmt.Fprintf(p.std.err, "shadowdiff replay: %s\n", err)
	}
	return out.code
}

// saveReport writes the run's report, where it is wanted and something was counted.
func (p *player) saveReport(out *outcome) error {
	if p.report == "" || out.last == nil {
		return nil
	}
	text, err := p.svc.web.Report(context.Background(), p.run.ID, reportFormat(p.report), p.dashboard())
	if err != nil {
		return fmt.Errorf("the report could not be made: %w", err)
	}
	return saveText(p.report, text)
}

// dashboard is where the run can be looked at afterwards, by a serve with the same database.
func (p *player) dashboard() string {
	return cmp.Or(strings.TrimRight(p.cfg.Web.BaseURL, "/"), "http://"+p.cfg.Web.Listen)
}

// close gives back what open has taken.
func (p *player) close() error {
	var err error
	if p.journal != nil {
		err = p.journal.Close()
	}
	return errors.Join(err, p.svc.close())
}

// outcome reads the verdict when everything that was asked has been counted.
func (p *player) outcome(ctx context.Context, ended error) outcome {
	out := outcome{code: exitTrouble, started: p.started}
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	flushed := p.svc.db.Flush(settling)
	out.ended = time.Now()
	snap := p.svc.db.Snapshot()
	if snap != nil && snap.Verdict != nil {
		out.last = &state{
			services: []proxied{{run: snap.Run, compared: snap.Verdict.Compared}}, verdict: snap.Verdict, routes: snap.Verdict.Routes,
			alpha: snap.Verdict.Alpha,
		}
		if out.last.routes == nil {
			out.last.routes = []*diff.Verdict{}
		}
	}
	c := p.replay.Counts()
	switch {
	case ctx.Err() != nil && ended != nil:
		out.trouble = fmt.Errorf("interrupted after %s requests; -resume goes on, and asks none of them again", humanize.Comma(c.Before+c.Asked))
	case errors.Is(ended, replay.ErrPrimary):
		out.trouble = errors.New("the primary has given no answer to 20 requests running; see to it that it answers, and go on with -resume")
	case ended != nil:
		out.trouble = ended
	case flushed != nil:
		out.trouble = flushed
	case c.Asked+c.Before == 0:
		out.trouble = errNothing
	case out.last == nil || out.last.verdict.Compared == 0:
		out.trouble = errors.New("no request could be compared")
	default:
		out.code, _ = out.last.decision()
	}
	return out
}
