package normalize

import "testing"

func TestFieldAt(t *testing.T) {
	for _, tc := range []struct{ field, pointer, want string }{
		{"body.env.{}", "/env/password", "body.env.password"},
		{"body.env.{}", "/env/17", "body.env.{}"},
		{"body.users.{}.pin", "/users/ada/pin", "body.users.ada.pin"},
		{"body[].{}[].x", "/3/a b/0/x", `body[]["a b"][].x`},
		{"body.{}.{}", "/a~1b/c~0d", `body["a/b"]["c~d"]`},
		{"body.{}", "", "body.{}"},
		{"body.a", "/b", "body.a"},
		{"body.{}.**", "/a/b/c/d", "body.a.**"},
		{"no field.{}", "/a", "no field.{}"},
	} {
		if got := FieldAt(tc.field, &tc.pointer); got != tc.want {
			t.Errorf("%s at %s is %s, want %s", tc.field, tc.pointer, got, tc.want)
		}
	}
	if got := FieldAt("body.{}", nil); got != "body.{}" {
		t.Errorf("without a pointer it is %s", got)
	}
}
