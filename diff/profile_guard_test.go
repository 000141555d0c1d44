package diff

import (
	"fmt"
	"strings"
	"testing"

	"shadowdiff/normalize"
)

// What is redacted is not carried, whatever it is called in the field: where its key has folded among many, where a rule
// has renamed it, where it lies in a string or in a body that is no JSON.
func TestWhatIsRedactedIsNotCarried(t *testing.T) {
	places := []string{"body.**.password", "body.users.ada.pin", "query.token", "header.x-key", "cookie.sid", "body.items[2].code"}
	media := func(kind, body string) string { return "200\nContent-Type: " + kind + "\n\n" + body }
	many := func(role string) string {
		var b strings.Builder
		for i := range 80 {
			fmt.Fprintf(&b, `,"k%c%c":"plain-%s"`, 'a'+i/26, 'a'+i%26, role)
		}
		return b.String()
	}
	for _, tc := range []struct {
		name   string
		answer func(role string) string
		shows  string // a field of which something is carried all the same
		rules  []normalize.RuleConfig
	}{
		{"by its name", func(r string) string {
			return media("application/json", `{"password":"secret-`+r+`","n":"plain-`+r+`"}`)
		}, "body.n", nil},
		{"deep in arrays", func(r string) string {
			return media("application/json", `[[{"password":["secret-`+r+`"],"n":"plain-`+r+`"}]]`)
		}, "body[][].n", nil},
		{"of an element", func(r string) string {
			return media("application/json", `{"items":[{"code":"secret-`+r+`"}],"n":"plain-`+r+`"}`)
		}, "body.n", nil},
		{"among many keys", func(r string) string {
			return media("application/json", `{"env":{"aa":"plain-`+r+`","password":"secret-`+r+`"`+many(r)+`},"n":"plain-`+r+`"}`)
		}, "body.n", nil},
		{"below one of many keys", func(r string) string {
			return media("application/json", `{"users":{"ada":{"pin":"secret-`+r+`"}`+many(r)+`},"n":"plain-`+r+`"}`)
		}, "body.n", nil},
		{"below an id", func(r string) string {
			return media("application/json", `{"users":{"17":{"password":"secret-`+r+`","n":"plain-`+r+`"}}}`)
		}, "body.users.{}.n", nil},
		{"in a string of JSON", func(r string) string {
			return media("application/json", `{"event":"{\"password\":\"secret-`+r+`\"}","n":"plain-`+r+`"}`)
		}, "body.n", nil},
		{"in a text within JSON", func(r string) string {
			return media("application/json", `{"log":"login password=secret-`+r+`","n":"plain-`+r+`"}`)
		}, "body.n", nil},
		{"in a URL within JSON", func(r string) string {
			return media("application/json", `{"next":"https://a/?token=secret-`+r+`","n":"plain-`+r+`"}`)
		}, "body.n", nil},
		{
			"renamed by a rule", func(r string) string {
				key := "password"
				if r == "primary" {
					key = "pin"
				}
				return media("application/json", `{"`+key+`":"secret-`+r+`","n":"plain-`+r+`"}`)
			}, "body.n", []normalize.RuleConfig{{Rename: "body.password", To: "pin"}},
		},
		{
			"below what a rule renames", func(r string) string {
				key := "password"
				if r == "primary" {
					key = "pin"
				}
				return media("application/json", `{"`+key+`":{"v":"secret-`+r+`"},"n":"plain-`+r+`"}`)
			}, "body.n", []normalize.RuleConfig{{Rename: "body.password", To: "pin"}},
		},
		{"parsed by a rule", func(r string) string {
			return media("application/json", `{"event":"{\"password\":\"secret-`+r+`\"}","n":"plain-`+r+`"}`)
		}, "body.n", []normalize.RuleConfig{{Parse: "body.event", As: "json"}}},
		{"in a form", func(r string) string {
			return media("application/x-www-form-urlencoded", "user[password]=secret-"+r+"&n=plain-"+r)
		}, "body.n", nil},
		{"in XML", func(r string) string {
			return media("application/xml", `<u><x:password xmlns:x="n">secret-`+r+`</x:password><n>plain-`+r+`</n></u>`)
		}, "body.u.n[]", nil},
		{"in HTML", func(r string) string {
			return media("text/html", `<p>plain-`+r+`</p><input name="a" value="b"><password>secret-`+r+`</password>`)
		}, "", nil},
		{"in a text", func(r string) string { return media("text/plain", `password: secret-`+r) }, "", nil},
		{"in records", func(r string) string {
			return media("application/x-ndjson", "{\"password\":\"secret-"+r+"\"}\n{\"n\":\"plain-"+r+"\"}\n")
		}, "body[].n", nil},
		{"in headers", func(r string) string {
			return "200\nX-Key: secret-" + r + "\nSet-Cookie: sid=secret-" + r + "; Path=/secret-" + r + "\nLocation: /?a=1&token=secret-" + r + "\nX-Plain: plain-" + r
		}, "header.x-plain", nil},
	} {
		c := carrying(t, places, tc.rules...)
		ex := exchange(answer(t, tc.answer("primary")), answer(t, tc.answer("secondary")), answer(t, tc.answer("candidate")))
		got := c.Compare(ex)
		said := tellValues(got)
		if strings.Contains(said, "secret") {
			t.Errorf("%s: shown\n%s", tc.name, said)
		}
		shown := tc.shows == ""
		for _, line := range strings.Split(said, "\n") {
			shown = shown || strings.HasPrefix(line, tc.shows) && strings.Contains(line, "plain-candidate")
		}
		if !shown {
			t.Errorf("%s: %s is not shown\n%s", tc.name, tc.shows, said)
		}
	}
}

// Three fields differ, with and without their values.
func BenchmarkValues(b *testing.B) {
	body := func(at, price string) string {
		return "200\nContent-Type: application/json\n\n" + `{"generated_at":"2026-11-30T10:00:0` + at + `Z","price":` + price + `,"name":"a chair, of \"wood\": small","items":[1,2,3],"tags":["a","` + at + `"]}`
	}
	for _, carried := range []bool{false, true} {
		b.Run(fmt.Sprintf("carried=%t", carried), func(b *testing.B) {
			c := comparer(b)
			if carried {
				c = carrying(b, []string{"header.authorization", "query.token", "body.**.password"})
			}
			ex := exchange(answer(b, body("0", "10")), answer(b, body("1", "10")), answer(b, body("2", "12")))
			b.ReportAllocs()
			for b.Loop() {
				c.Compare(ex)
			}
		})
	}
}
