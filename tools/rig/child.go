package rig

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Child is a process that was started here and ends here, with what it wrote. It gets a process group of its own, so that
// Ctrl-C reaches it through its parent alone.
type Child struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{}
	err   error // how it ended; read after done

	mu    sync.Mutex // guards what follows
	lines []string   // the first and the last that it wrote
	news  chan struct{}
}

// keptLines is how many of the first and of the last lines of a child are kept.
const keptLines = 50

// Start starts a program. Its standard input stays open until it is stopped, so that a child may end when its parent
// does.
func Start(name, path string, args ...string) (*Child, error) {
	c := &Child{name: name, cmd: exec.Command(path, args...), done: make(chan struct{}), news: make(chan struct{})}
	c.cmd.SysProcAttr, c.cmd.WaitDelay = ownGroup(), time.Second
	return c, c.start()
}

func (c *Child) start() (err error) {
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	reader, writer := io.Pipe()
	c.cmd.Stdout, c.cmd.Stderr = writer, writer
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", c.name, err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(reader)
	}()
	go func() {
		c.err = c.cmd.Wait()
		_ = writer.Close()
		<-read
		close(c.done)
	}()
	return nil
}

func (c *Child) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			c.wrote(line)
		}
		if err != nil {
			return
		}
	}
}

func (c *Child) wrote(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lines) == 2*keptLines {
		c.lines = slices.Delete(c.lines, keptLines, keptLines+1)
	}
	c.lines = append(c.lines, line)
	close(c.news)
	c.news = make(chan struct{})
}

// PID is the child's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err tells how a child that is done ended; nil is exit code 0.
func (c *Child) Err() error {
	<-c.done
	return c.err
}

// Lines returns the first and the last lines that the child wrote, to its standard output and error alike.
func (c *Child) Lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// Line waits for a line for which match is true, among the first that the child writes.
func (c *Child) Line(ctx context.Context, match func(line string) bool) (string, error) {
	for seen := 0; ; {
		c.mu.Lock()
		lines, news := slices.Clone(c.lines), c.news
		c.mu.Unlock()
		for ; seen < len(lines); seen++ {
			if match(lines[seen]) {
				return lines[seen], nil
			}
		}
		select {
		case <-news:
		case <-c.done:
			return "", fmt.Errorf("%s ended (%v): %q", c.name, c.err, lines)
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for %s: %w: %q", c.name, ctx.Err(), lines)
		}
	}
}

// Tell writes a line to the child's standard input.
func (c *Child) Tell(line string) error {
	_, err := io.WriteString(c.stdin, line+"\n")
	return err
}

// Signal sends a signal to the child.
func (c *Child) Signal(sig syscall.Signal) error { return c.cmd.Process.Signal(sig) }

// Stop asks the child to end, and ends it and what it has started when it has not done so after grace. It returns how
// the child ended.
func (c *Child) Stop(grace time.Duration) error {
	_ = c.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(grace):
		killGroup(c.PID())
	}
	_ = c.stdin.Close()
	return c.Err()
}
