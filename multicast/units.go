package multicast

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Share is a part of all, in hundred-thousandths: 100 % is 100,000, so 0.001 % is the least step. Its text is a
// percentage: "1%", "33.3%", "0.001%".
type Share uint32

// Whole is the share that takes every request.
const Whole Share = 100_000

// String is the share as a percentage, without needless digits.
func (s Share) String() string {
	return strconv.FormatFloat(float64(s)/1000, 'f', -1, 64) + "%"
}

// MarshalText writes the share as a percentage.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a percentage from 0% to 100% with at most three decimals.
func (s *Share) UnmarshalText(text []byte) error {
	share, ok := parseShare(strings.TrimSpace(string(text)))
	if !ok {
		return fmt.Errorf("must be a percentage from 0%% to 100%% in steps of 0.001%%, such as 1%% or 33.3%%, is %q", text)
	}
	*s = share
	return nil
}

// UnmarshalJSON reads the same percentage from a JSON string, so that a bare number gets the same advice.
func (s *Share) UnmarshalJSON(data []byte) error { return s.UnmarshalText(unquote(data)) }

func parseShare(text string) (Share, bool) {
	number, found := strings.CutSuffix(text, "%")
	if !found {
		return 0, false
	}
	whole, decimals, _ := strings.Cut(strings.TrimSpace(number), ".")
	decimals = strings.TrimRight(decimals, "0")
	if !digits(whole) || len(whole) > 3 || decimals != "" && !digits(decimals) || len(decimals) > 3 {
		return 0, false
	}
	n, err := strconv.Atoi(whole + (decimals + "000")[:3])
	if err != nil || n > int(Whole) {
		return 0, false
	}
	return Share(n), true
}

// Size is a number of bytes. Its text is a number with B, KiB, MiB, GiB or TiB (KB, MB, GB and TB are powers of ten);
// without a unit it counts bytes.
type Size int64

// The binary units of Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

// sizeUnits are in the order in which they are tried: the longer suffix first, so that "KiB" is not read as "B".
var sizeUnits = [...]struct {
	suffix string
	bytes  Size
}{
	{"TiB", TiB},
	{"GiB", GiB},
	{"MiB", MiB},
	{"KiB", KiB},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"kB", 1e3},
	{"B", 1},
	{"", 1},
}

// String is the size in the largest binary unit that divides it.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	for _, unit := range sizeUnits[:4] {
		if s%unit.bytes == 0 {
			return strconv.FormatInt(int64(s/unit.bytes), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText writes the size with its unit.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a size such as 256KiB, 1.5MiB or 0.
func (s *Size) UnmarshalText(text []byte) error {
	size, ok := parseSize(strings.TrimSpace(string(text)))
	if !ok {
		return fmt.Errorf("must be a number of bytes with B, KiB, MiB or GiB, such as 256KiB, 1MiB or 0, is %q", text)
	}
	*s = size
	return nil
}

// UnmarshalJSON reads the same text from a JSON string, or a number of bytes.
func (s *Size) UnmarshalJSON(data []byte) error { return s.UnmarshalText(unquote(data)) }

func parseSize(text string) (Size, bool) {
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(text, unit.suffix)
		if !found {
			continue
		}
		number = strings.TrimSpace(number)
		whole, decimals, point := strings.Cut(number, ".")
		if !digits(whole) || point && !digits(decimals) {
			return 0, false
		}
		if !point {
			n, err := strconv.ParseInt(whole, 10, 64)
			return Size(n) * unit.bytes, err == nil && n <= math.MaxInt64/int64(unit.bytes)
		}
		f, err := strconv.ParseFloat(number, 64)
		bytes := f * float64(unit.bytes)
		return Size(bytes), err == nil && bytes < math.MaxInt64 && bytes == math.Trunc(bytes)
	}
	return 0, false
}

func digits(text string) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != ""
}

func unquote(data []byte) []byte {
	if len(data) >= 2 && data[0] == '"' && data[len(data)-1] == '"' {
		return data[1 : len(data)-1]
	}
	return data
}
