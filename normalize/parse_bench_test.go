package normalize

import (
	"fmt"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	for _, size := range []int{2 << 10, 20 << 10, 1 << 20} {
		body := benchBody(size)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			n := mustNew(b)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				p := n.parser(nil)
				if !p.parse(body, false) {
					b.Fatal(p.failure)
				}
				n.release(p)
			}
		})
	}
}
