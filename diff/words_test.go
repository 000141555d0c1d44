package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"shadowdiff/multicast"
)

func TestMoreWords(t *testing.T) {
	for _, test := range []struct {
		left, right string
		want        int // beyond the first
	}{
		{"a", "b", 0},
		{"order 7f3a for ann", "order 90c1 for ann", 0},
		{"order 7f3a for ann", "order 90c1 for bob", 1},
		{"2026-11-30T10:00:00.123Z up", "2026-11-30T10:00:01Z up", 0},
		{"http://one.svc:8080/items/1?page=2", "http://two.svc:80/items/1?page=2", 0},
		{"http://one.svc:8080/items/1?page=2", "http://two.svc:80/items/5?page=9", 2},
		{"a b c", "c b a", 0},     // the order alone
		{"a b c d", "d c b x", 1}, // and one word more
		{"a b c d", "x b c d", 0},
		{"a  b", "a b", 0},            // nor is what parts words
		{"a a", "a", 0},               // one more
		{"a", "a b c d", 2},           // three more
		{"x b c d", "y", 3},           // four fewer, one more
		{"x a y", "a z", 1},           // what both have is in order
		{"prefix", "prefixed", 0},     // no word is cut
		{"one two", "one two two", 0}, // nor counted twice
		{"", "a b", 1},
		{"Größe 4, Farbe rot", "Grösse 4, Farbe blau", 1},
	} {
		for range 2 {
			if got := newFound(DefaultLimits()).moreWords(test.left, test.right); got != test.want {
				t.Errorf("%q against %q: %d more words, want %d", test.left, test.right, got, test.want)
			}
			test.left, test.right = test.right, test.left
		}
	}
}

// An answer of several megabytes is not taken apart again and again.
func TestWordsAreBounded(t *testing.T) {
	f := newFound(DefaultLimits())
	long := strings.Repeat("a b ", wordBytes/16)
	if got := f.moreWords("x "+long+"y", "z "+long+"w"); got != 1 {
		t.Errorf("%d more words, want 1", got)
	}
	f.moreWords("x "+long+long+"y", "z "+long+long+"w")
	if got := f.moreWords("a b", "c d"); got != 0 {
		t.Errorf("%d more words beyond the bound", got)
	}
}

// Where something in a text is noise, another thing that is wrong in it is found all the same, and noise alone is not.
func TestNoiseInATextHidesNothingElse(t *testing.T) {
	text := func(media, body string) string { return "200\nContent-Type: " + media + "\n\n" + body }
	for name, answerOf := range map[string]func(noise string, wrong int) string{
		"an id in a message": func(noise string, wrong int) string {
			return text("application/json", fmt.Sprintf(`{"message":"order %s costs %d EUR"}`, noise, 10+wrong))
		},
		"a host in a link": func(noise string, wrong int) string {
			return text("application/json", fmt.Sprintf(`{"next":"http://pod-%s:80/items?page=%d"}`, noise, 2+wrong))
		},
		"the head of a table": func(noise string, wrong int) string {
			return text("text/csv", fmt.Sprintf("# export %s\nid,price\n1,10\n2,%d\n3,12\n", noise, 11+wrong))
		},
		"a nonce in a script": func(noise string, wrong int) string {
			return text("text/html", fmt.Sprintf(`<script>state={"csrf":"%s","user":"ann","price":%d}</script>`, noise, 10+wrong))
		},
		"a stack trace": func(noise string, wrong int) string {
			return "500\nContent-Type: text/plain\n\npanic: nil\ngoroutine 1:\nmain.f(0x" + noise + fmt.Sprintf(")\n\tmain.go:%d\n", 10+wrong)
		},
		"a redirect": func(noise string, wrong int) string {
			return fmt.Sprintf("302\nLocation: https://sso.example/auth?client=%d&state=%s\n\n", 4+wrong, noise)
		},
		"words in any order": func(noise string, wrong int) string {
			list := []string{"read", "write", "own", "admin", [...]string{"all", "none"}[wrong]}
			for i, c := range noise[:5] {
				j := int(c) % 5
				list[i], list[j] = list[j], list[i]
			}
			return text("application/json", `{"scope":"`+strings.Join(list, " ")+`"}`)
		},
		"a policy": func(noise string, wrong int) string {
			return fmt.Sprintf("200\nContent-Security-Policy: script-src 'nonce-%s'; %s 'none'\n\n", noise, [...]string{"object-src", "frame-src"}[wrong])
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, faulty := range []bool{false, true} {
				confirmed := 0
				for seed := range uint64(5) {
					rnd := rand.New(rand.NewPCG(seed, 3))
					tally, watch, c := NewTally(nil), NewWatch(DefaultConfig()), comparer(t)
					fresh := []Confirmed(nil)
					for i := range 400 {
						one := func(wrong int) *multicast.Response {
							return answer(t, answerOf(fmt.Sprintf("%08x", rnd.Uint32()), wrong))
						}
						wrong := 0
						if faulty && rnd.IntN(5) == 0 {
							wrong = 1
						}
						ex := exchange(one(0), one(0), one(wrong))
						ex.Time = ex.Time.Add(time.Duration(i) * time.Second)
						tally.Add(c.Compare(ex))
						if i%10 == 9 {
							all, _ := tally.Cut()
							_, now := watch.Judge(all)
							tally.Confirm(now)
							fresh = append(fresh, now...)
						}
					}
					if len(fresh) > 0 {
						confirmed++
					}
				}
				if want := map[bool]int{true: 5}[faulty]; confirmed != want {
					t.Errorf("faulty %v: something is confirmed in %d of 5 runs, want %d", faulty, confirmed, want)
				}
			}
		})
	}
}
