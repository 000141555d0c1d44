package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// road is the order of the packages: each imports only those before it.
func road() []string {
	return []string{"lock", "traffic", "multicast", "normalize", "record", "replay", "diff", "store", "web", "cmd/shadowdiff"}
}

// TestImportsFollowTheRoad reads every Go file of the module. Besides the order of the road: fixtures are imported by
// tests, by the commands below them and by the demonstration alone, and but for their tests import nothing of the product.
func TestImportsFollowTheRoad(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	for _, pkg := range road() {
		if !slices.ContainsFunc(files, func(file string) bool { return path.Dir(file) == pkg }) {
			t.Errorf("%s is on the road and has no Go file", pkg)
		}
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, spec := range parsed.Imports {
			if imported, err := strconv.Unquote(spec.Path.Value); err != nil {
				t.Error(err)
			} else if pkg, ours := strings.CutPrefix(imported, "shadowdiff/"); ours && !mayImport(file, pkg) {
				t.Errorf("%s imports %s, which is not before it on the road", file, pkg)
			}
		}
	}
}

// mayImport says whether the file may import a package of this module.
func mayImport(file, pkg string) bool {
	from := path.Dir(file)
	if pkg == "fixtures" || strings.HasPrefix(pkg, "fixtures/") {
		return strings.HasSuffix(file, "_test.go") || strings.HasPrefix(from, "fixtures/") ||
			from == "cmd/shadowdiff" && strings.HasPrefix(path.Base(file), "demo")
	}
	if strings.HasSuffix(file, "_test.go") && (from == pkg || from == "fixtures") {
		return true // a test from outside its package, or one that the fixtures do what they say
	}
	here, there := slices.Index(road(), from), slices.Index(road(), pkg)
	return there >= 0 && there < here
}

// TestNoFolderIsNamedAfterNothing: a folder is named after what it holds.
func TestNoFolderIsNamedAfterNothing(t *testing.T) {
	t.Parallel()
	for _, file := range goFiles(t) {
		for _, folder := range strings.Split(path.Dir(file), "/") {
			switch folder {
			case "internal", "pkg", "util", "utils", "common", "types", "helpers", "mock", "mocks":
				t.Errorf("%s is in a folder named %q", file, folder)
			}
		}
	}
}

// goFiles lists the module's Go files by their path from its root. The tools are a module of their own.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == "tools" || name == "bin" || name != "." && strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go"):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
