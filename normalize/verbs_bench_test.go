package normalize

import (
	"regexp"
	"testing"
)

// What a verb costs where it has nothing to do, which is nearly always, and where it has.
func BenchmarkVerbs(b *testing.B) {
	lower, trim, squeeze, nfc := newLower(), newTrim(), newSqueeze(), newNFC()
	uuid := newMask(regexp.MustCompile(uuidExpression), "<id>", false)
	for _, bc := range []struct {
		name   string
		change textChange
		text   string
	}{
		{"lower/idle", lower, "ein schöner artikel, nummer 17"},
		{"lower", lower, "Ein schöner Artikel, Nummer 17"},
		{"trim/idle", trim, "Ein schöner Artikel, Nummer 17"},
		{"trim", trim, " Ein schöner Artikel, Nummer 17 "},
		{"squeeze/idle", squeeze, "Ein schöner Artikel, Nummer 17"},
		{"squeeze", squeeze, "Ein schöner  Artikel, Nummer 17"},
		{"nfc/idle", nfc, "Ein schöner Artikel, Nummer 17"},
		{"nfc", nfc, "Ein scho\u0308ner Artikel, Nummer 17"},
		{"mask/idle", uuid, "Ein schöner Artikel, Nummer 17"},
		{"mask", uuid, "/orders/7d9f4c1e-52b8-4a36-9c0d-1e2f3a4b5c6d"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bc.change(bc.text, nil)
			}
		})
	}
	for _, bc := range []struct {
		name   string
		change valueChange
		value  string
	}{
		{"round/idle", newRound(2), `12.5`},
		{"round", newRound(2), `12.50499999`},
		{"number/idle", toNumber, `12.5`},
		{"number/text", toNumber, `"Ein schöner Artikel"`},
		{"number", toNumber, `"12.5"`},
		{"bool", toBool, `"true"`},
		{"time/idle", toTime, `"2024-03-01T10:00:00.25Z"`},
		{"time/text", toTime, `"Ein schöner Artikel"`},
		{"time", toTime, `"2024-03-01T12:00:00.250+02:00"`},
		{"time/http", toTime, `"Fri, 01 Mar 2024 10:00:00 GMT"`},
		{"time/epoch", toTime, `1709287200125`},
	} {
		b.Run(bc.name, func(b *testing.B) {
			sent := *mustParse(b, bc.value)
			var v Value
			b.ReportAllocs()
			for b.Loop() {
				v = sent
				bc.change(&v)
			}
		})
	}
	for _, bc := range []struct{ name, within, left, right string }{
		{"close/equal", "0.01", `12.5`, `12.50`},
		{"close/number", "0.01", `12.5`, `12.51`},
		{"close/far", "0.01", `12.5`, `13.5`},
		{"close/share", "1%", `12.5`, `12.51`},
		{"close/time", "2s", `"2024-03-01T10:00:00.25Z"`, `"2024-03-01T10:00:01.5Z"`},
		{"close/text", "2s", `"Ein schöner Artikel"`, `"Ein anderer Artikel"`},
	} {
		b.Run(bc.name, func(b *testing.B) {
			x, y, tolerance := mustParse(b, bc.left), mustParse(b, bc.right), mustTolerance(b, bc.within)
			b.ReportAllocs()
			for b.Loop() {
				tolerance.Close(x, y)
			}
		})
	}
}
