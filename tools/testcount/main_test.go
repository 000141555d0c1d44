package main

import (
	"strings"
	"testing"
)

// TestReports reads what `go test -json` wrote in each case, and compares all that is printed.
func TestReports(t *testing.T) {
	cases := map[string]struct {
		events, want string
		ok           bool
	}{
		"passes are counted without the tests that only hold others": {
			events: `{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"run","Package":"a","Test":"TestX/one"}
{"Action":"run","Package":"a","Test":"TestX/two"}
{"Action":"pass","Package":"a","Test":"TestX/one"}
{"Action":"pass","Package":"a","Test":"TestX/two"}
{"Action":"pass","Package":"a","Test":"TestX"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"pass","Package":"a","Elapsed":1.5}
{"Action":"skip","Package":"b","Elapsed":0}
`,
			want: `ok    a                                   1.5s  2 tests
  -   b                                         no tests
2 passed, 0 failed
`,
			ok: true,
		},
		"a failure shows what its test wrote, and no other's": {
			events: `{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:1: want 1\n"}
{"Action":"fail","Package":"a","Test":"TestX"}
{"Action":"run","Package":"a","Test":"TestY"}
{"Action":"output","Package":"a","Test":"TestY","Output":"fine\n"}
{"Action":"pass","Package":"a","Test":"TestY"}
{"Action":"output","Package":"a","Output":"-test.shuffle 42\n"}
{"Action":"fail","Package":"a","Elapsed":0.5}
`,
			want: `FAIL  a                                   0.5s  1 passed, 1 failed
      -test.shuffle 42
          x_test.go:1: want 1
1 passed, 1 failed
`,
		},
		"a skipped test fails the run": {
			events: `{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"skip","Package":"a","Test":"TestX"}
{"Action":"run","Package":"a","Test":"TestY"}
{"Action":"pass","Package":"a","Test":"TestY"}
{"Action":"pass","Package":"a","Elapsed":0.5}
`,
			want: `ok    a                                   0.5s  1 tests
SKIP  a TestX: a skipped test fails the run
1 passed, 0 failed, 1 skipped
`,
		},
		"a package that comes again has a line for what came": {
			events: `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"fail","Package":"a","Test":"TestX"}
{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:1: want 1\n"}
{"Action":"run","Package":"a","Test":"TestY"}
{"Action":"pass","Package":"a","Test":"TestY"}
{"Action":"fail","Package":"a","Elapsed":1.5}
{"Action":"start","Package":"b"}
{"Action":"pass","Package":"b","Elapsed":0.1}
{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestLong"}
{"Action":"pass","Package":"a","Test":"TestLong"}
{"Action":"pass","Package":"a","Elapsed":60}
`,
			want: `FAIL  a                                   1.5s  1 passed, 1 failed
          x_test.go:1: want 1
  -   b                                         no tests
ok    a                                  60.0s  1 tests
2 passed, 1 failed
`,
		},
		"a package that does not build": {
			events: `{"ImportPath":"a [a.test]","Action":"build-output","Output":"a.go:1:1: undefined: x\n"}
{"ImportPath":"a [a.test]","Action":"build-fail"}
{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}
{"Action":"fail","Package":"a","Elapsed":0,"FailedBuild":"a [a.test]"}
{"Action":"run","Package":"b","Test":"TestY"}
{"Action":"pass","Package":"b","Test":"TestY"}
{"Action":"pass","Package":"b","Elapsed":0.1}
`,
			want: `FAIL  a                                   0.0s  0 passed, 0 failed
      a.go:1:1: undefined: x
      FAIL	a [build failed]
ok    b                                   0.1s  1 tests
FAIL  a did not build, or did not end
1 passed, 0 failed, 1 packages broken
`,
		},
		"a run that was cut off": {
			events: `{"Action":"run","Package":"a","Test":"TestX"}
`,
			want: `FAIL  a did not build, or did not end
0 passed, 1 failed, 1 packages broken
`,
		},
		"no test at all shows what the go command said": {
			events: "go: no such package\n",
			want:   "go: no such package\n0 passed, 0 failed\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			count := count{out: &out, packages: make(map[string][]*result), builds: make(map[string][]string)}
			if err := count.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			if ok := count.report(); ok != c.ok || out.String() != c.want {
				t.Errorf("ok %v, want %v; got:\n%s\nwant:\n%s", ok, c.ok, out.String(), c.want)
			}
		})
	}
}
