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
