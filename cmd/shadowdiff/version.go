package main

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// version and commit are set by the linker (see the Makefile); without them the module's build information tells.
var version, commit string

// buildInfo is what this binary was made from.
type buildInfo struct {
	Version string // "v0.1.0", or "devel"
	Commit  string // short, "-dirty" after it when the tree had changes; "unknown" outside a repository
	Go      string // "go1.27.3"
	Arch    string // "linux/amd64"
}

func (b buildInfo) String() string {
	return fmt.Sprintf("shadowdiff %s, commit %s, %s %s", b.Version, b.Commit, b.Go, b.Arch)
}

// readBuildInfo prefers what the linker was told over what the go command recorded.
func readBuildInfo() buildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	settings := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b := buildInfo{Version: version, Commit: commit, Go: info.GoVersion, Arch: settings["GOOS"] + "/" + settings["GOARCH"]}
	if b.Version == "" {
		b.Version = strings.Trim(info.Main.Version, "()")
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	if b.Commit == "" {
		b.Commit = settings["vcs.revision"]
		b.Commit = b.Commit[:min(len(b.Commit), 12)]
		if settings["vcs.modified"] == "true" {
			b.Commit += "-dirty"
		}
	}
	if b.Commit == "" {
		b.Commit = "unknown"
	}
	return b
}

func runVersion(args []string, std stdio) int {
	fs := newFlagSet("version", `
Usage: shadowdiff version

Prints the version, the commit it was built from, and the Go version.`)
	if code, done := parse(fs, args, std); done {
		return code
	}
	fmt.Fprintln(std.out, readBuildInfo())
	return exitOK
}
