package diff

import (
	"fmt"
	"strings"
	"testing"

	"shadowdiff/normalize"
)

// order is a document of about so many bytes, like an order with its lines.
func order(size, price int, note string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":9007199254740993,"customer":{"name":"Zoë Quinn","email":"zoe@example.test","vip":true},"note":%q,"lines":[`, note)
	for i := 0; b.Len() < size-100; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"A-%05d","price":%d.%02d,"count":%d,"tags":["new","sale"],"stock":{"here":%d,"there":null}}`,
			i, 10+i%90+price*(i%1000/999), i%100, 1+i%7, i%13)
	}
	b.WriteString(`],"total":` + fmt.Sprint(1000+price) + `}`)
	return b.String()
}

func BenchmarkCompare(b *testing.B) {
	for _, size := range []int{2 << 10, 20 << 10, 1 << 20} {
		left := order(size, 0, "leave at the door")
		for _, test := range []struct{ name, right string }{
			{"equal", left},
			{"two fields", order(size, 1, "leave with Anna")},
			{"a line in front", strings.Replace(left, `"lines":[`, `"lines":[{"sku":"B-1","price":1},`, 1)},
			{"every line", strings.ReplaceAll(left, `"count":`, `"count":1`)},
			{"unrelated", strings.NewReplacer(`":`, `z":`, `":"`, `":"x`).Replace(left)},
		} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, test.name), func(b *testing.B) {
				l, r := documentOf(b, left), documentOf(b, test.right)
				if l.Body.Kind != normalize.JSON || r.Body.Kind != normalize.JSON {
					b.Fatal(l.Body.Note, r.Body.Note)
				}
				r.Body.Bytes = append(r.Body.Bytes, ' ') // not the same bytes
				b.SetBytes(int64(len(left) + len(test.right)))
				b.ReportAllocs()
				for b.Loop() {
					Compare(l, r, DefaultLimits())
				}
			})
		}
	}
}

// BenchmarkCompareUnrelatedArrays is the worst that two bodies of a few hundred kilobytes can ask for.
func BenchmarkCompareUnrelatedArrays(b *testing.B) {
	array := func(f func(i int) string) string {
		items := make([]string, 100_000)
		for i := range items {
			items[i] = f(i)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	seed := uint32(1)
	random := func(n uint32) func(int) string {
		return func(int) string {
			seed = seed*1664525 + 1013904223
			return fmt.Sprint(seed >> 8 % n)
		}
	}
	gaps := func(n int, sign string) string { // each with some thousand ways to pair its elements
		return array(func(i int) string {
			if i%(n+1) == 0 {
				return fmt.Sprint(i / (n + 1))
			}
			return fmt.Sprintf(`{"a":%s%d,"b":[%d]}`, sign, i+1, i)
		})
	}
	for _, test := range []struct{ name, left, right string }{
		{"gaps", gaps(50, ""), gaps(110, "-")},
		{"nothing alike", array(func(i int) string { return fmt.Sprint(i) }), array(func(i int) string { return fmt.Sprint(-i - 1) })},
		{"digits", array(random(10)), array(random(10))},
		{"bits", array(random(2)), array(random(2))},
		{"objects of another length", array(func(i int) string { return fmt.Sprintf(`{"a":%d}`, i) }), array(func(i int) string { return fmt.Sprintf(`{"a":-%d}`, i+1) }) + " "},
	} {
		b.Run(test.name, func(b *testing.B) {
			l, r := documentOf(b, test.left), documentOf(b, test.right)
			if r.Body.Kind != normalize.JSON {
				b.Fatal(r.Body.Note)
			}
			for b.Loop() {
				Compare(l, r, DefaultLimits())
			}
		})
	}
}

// BenchmarkComparer takes a whole exchange: three answers of 2 KiB, read and compared.
func BenchmarkComparer(b *testing.B) {
	head := "200\nContent-Type: application/json\nCache-Control: no-store\nX-Request-Id: 1\n\n"
	plain, noisy, wrong := order(2<<10, 0, "leave at the door"), order(2<<10, 0, "leave with Ben"), order(2<<10, 1, "leave with Anna")
	for _, test := range []struct{ name, secondary, candidate string }{
		{"the same bytes", plain, plain},
		{"noise", noisy, noisy + " "},
		{"noise and a fault", noisy, wrong},
	} {
		b.Run(test.name, func(b *testing.B) {
			c := comparer(b)
			ex := exchange(answer(b, head+plain), answer(b, head+test.secondary), answer(b, head+test.candidate))
			b.ReportAllocs()
			b.SetBytes(int64(len(plain) + len(test.secondary) + len(test.candidate)))
			for b.Loop() {
				c.Compare(ex)
			}
		})
	}
}
