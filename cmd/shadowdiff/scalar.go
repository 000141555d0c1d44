package main

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// setScalar parses text into v by v's type; the error says what is accepted. Flags and the file share it, so that
// -sample 1% and sample: 1% mean the same.
func setScalar(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := parseDuration(text)
		v.SetInt(int64(d))
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		return setBool(v, text)
	case reflect.Float64:
		f, err := parseNumber(text)
		v.SetFloat(f)
		return err
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("must be a whole number, is %q", text)
		}
		v.SetInt(n)
	default:
		return fmt.Errorf("cannot be set, as to %q", text)
	}
	return nil
}

// setBool takes YAML 1.2's two words alone, so that "no" and "off" mean nothing by accident.
func setBool(v reflect.Value, text string) error {
	switch strings.ToLower(text) {
	case "true":
		v.SetBool(true)
	case "false":
		v.SetBool(false)
	default:
		return fmt.Errorf("must be true or false, is %q", text)
	}
	return nil
}

// parseNumber reads "5%" as 0.05, and "0.05" as itself.
func parseNumber(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, fmt.Errorf("must be a number such as 0.05, or a percentage such as 5%%, is %q", text)
	}
	if percent {
		f /= 100
	}
	return f, nil
}

var days = regexp.MustCompile(`^(\d+(?:\.\d+)?)d`)

// parseDuration is time.ParseDuration with days before the rest: "7d", "1d12h". A bare "0" is no time.
func parseDuration(text string) (time.Duration, error) {
	wrong := fmt.Errorf("must be a duration such as 250ms, 5s, 10m or 7d, is %q", text)
	rest, whole := text, time.Duration(0)
	if m := days.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil || n*float64(24*time.Hour) > math.MaxInt64/2 {
			return 0, wrong
		}
		whole, rest = time.Duration(n*float64(24*time.Hour)), text[len(m[0]):]
		if rest == "" {
			return whole, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || (whole > 0 && d < 0) || d > math.MaxInt64-whole {
		return 0, wrong
	}
	return whole + d, nil
}

// environment looks a variable up; os.LookupEnv is one.
type environment func(name string) (value string, set bool)

var variable = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

const noVariable = " is not a variable's name in braces; write $${ for the characters themselves"

// expand replaces each ${NAME} by the variable of that name; $${ stands for ${ itself. The error names every variable
// that cannot be had.
func expand(text string, env environment) (string, error) {
	var wrong []string
	out := variable.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name := strings.TrimSuffix(m[2:], "}")
		value, set := "", false
		if !strings.HasSuffix(m, "}") || !plainName(name) {
			wrong = append(wrong, m+noVariable)
		} else if value, set = env(name); !set {
			wrong = append(wrong, fmt.Sprintf("the environment variable %s is not set", name))
		}
		return value
	})
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	return out, nil
}

func plainName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
