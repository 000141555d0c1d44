package main

import "testing"

// Every peer finds out of every small case what is so: whoever says otherwise is not measured.
func TestPeersAgree(t *testing.T) {
	for _, c := range cases() {
		if c.size() > slow {
			continue
		}
		for _, p := range peers(c) {
			if err := p.compare(); err != nil {
				t.Errorf("%s: %s: %v", c.name, p.name, err)
			}
		}
	}
}

// BenchmarkShadowdiff is for profiles of what the table shows in one line.
func BenchmarkShadowdiff(b *testing.B) {
	for _, c := range cases() {
		compare := documents(c)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(c.size()))
			for b.Loop() {
				if err := compare(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
