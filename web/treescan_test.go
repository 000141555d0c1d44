package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// decoded reads a tree with the decoder of the standard library.
func decoded(body []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	left := treeNodes
	return readNode(dec, treeDepth, &left)
}

// drawnTree is a tree with all that a page shows of it.
func drawnTree(n *node) string {
	if n.open == 0 {
		return n.text
	}
	var b strings.Builder
	b.WriteByte(n.open)
	for i, kid := range n.kids {
		if n.open == '{' {
			fmt.Fprintf(&b, "%q:", n.keys[i])
		}
		b.WriteString(drawnTree(kid) + ",")
	}
	b.WriteByte(closing(n.open))
	return b.String()
}

// The quick reader reads what the standard one reads.
func FuzzScannedTrees(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.50e+7,true,null,"x"],"b":{},"c":[]}`, "  [ 1 , {\"k\\u0041\\n\" : \"\\ud83d\\ude00\\\"<&>\" } ] ", `"ü` + "\u2028" + `"`,
		`{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `[[[]]]`, `0`, `{"":""}`, `[1,2`, `{}{}`, ``, `"\\"`, `"a\/b"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok, err := scanTree(body)
		if !ok {
			return // what is not one valid value is the standard reader's
		}
		want, wantErr := decoded(body)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, the standard one %v", body, err, wantErr)
		}
		if err == nil && drawnTree(got) != drawnTree(want) {
			t.Fatalf("%q is read as %s, by the standard one as %s", body, drawnTree(got), drawnTree(want))
		}
	})
}

// Bodies of JSON come to the same lines whether they are read once, for their lines alone, or as for comparing.
func TestJSONIsLaidOutAlike(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":1,"b":[1,2,{"c":"x"}]}`, `{"a":1,"b":[1,2,{"c":"x"}]}`, `{"a":2,"b":[1,{"c":"y"}]}`},
		{`[{"id":1},{"id":2}]`, `[{"id":1},{"id":2}]`, `[{"id":0},{"id":1},{"id":2}]`},
		{`{"a":"ü\n","a":2}`, `{"a":"ü\n","a":3}`, `{"a":"ü\n","a":2.0}`},
	} {
		sample := compared(t, c[0], c[1], c[2])
		quick, err := layOut(sample, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range storedRole {
			sample.Responses[role].Header.Set("Content-Type", "text/json-like") // no label that says enough
		}
		slow, err := layOut(sample, "")
		if err != nil {
			t.Fatal(err)
		}
		if drawing(quick.Lines) != drawing(slow.Lines) || quick.Total != slow.Total || quick.Stops != slow.Stops || quick.As != slow.As || len(quick.anchors) != len(slow.anchors) {
			t.Errorf("%v: %s %d %d\n%s\nelse %s %d %d\n%s", c, quick.As, quick.Total, quick.Stops, drawing(quick.Lines), slow.As, slow.Total, slow.Stops, drawing(slow.Lines))
		}
	}
}
