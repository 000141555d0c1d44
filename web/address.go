package web

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// Addresses of pages hold the names themselves, base64url, so that a shared link needs no table and survives restarts.

func routeID(route string) string { return base64.RawURLEncoding.EncodeToString([]byte(route)) }

func fieldID(route, field string) string { return routeID(route + "\x00" + field) }

func readRouteID(id string) (route string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(id)
	return string(b), err == nil && len(b) > 0
}

func readFieldID(id string) (route, field string, ok bool) {
	both, ok := readRouteID(id)
	if !ok {
		return "", "", false
	}
	route, field, ok = strings.Cut(both, "\x00")
	return route, field, ok && field != "" && (route != "" || field == transport)
}

// transport is the one field that is also judged over all routes together: its route is then empty.
const transport = string(normalize.FieldTransport)

// Paths of pages below the listener's root; templates put the base path before them.

func routePath(route string) string        { return "/routes/" + routeID(route) }
func fieldPath(route, field string) string { return "/fields/" + fieldID(route, field) }
func samplePath(id int64) string           { return "/samples/" + strconv.FormatInt(id, 10) }

// samplesPath is the list of the kept samples that meet every filter which is not empty; result is one of candidate_only,
// control_only, both and agree: with a field, what the two did there, and without one in the request as a whole.
func samplesPath(route, field, result string) string {
	if field != "" {
		return listPath("/samples", "route", route, "field", field, "at_field", result)
	}
	return listPath("/samples", "route", route, "result", result)
}

// samplesAtPath is the list of the kept samples in which one test of a field came out so; see samplesPath.
func samplesAtPath(route, field, result string, test diff.Test) string {
	if test == diff.TestValue {
		return samplesPath(route, field, result)
	}
	return listPath("/samples", "route", route, "field", field, "at_field", result, "test", test.String())
}

// samplesWithPath is the list of the kept samples in which a value stood at a field on one side.
func samplesWithPath(route, field, value string, side int) string {
	return listPath("/samples", "route", route, "field", field, "value", value, "role", storedRole[side].String())
}

// reasonPath is where it is told what is counted under a reason.
func reasonPath(reason string) string { return "/help#reason-" + strings.ReplaceAll(reason, " ", "-") }

// fieldsPath is the list of the fields that differ, of one route unless that is empty.
func fieldsPath(route string) string { return listPath("/fields", "route", route) }

// fieldsOfPath is the same list where only those of one standing are wanted: confirmed, suspected or noise.
func fieldsOfPath(route, standing string) string {
	return listPath("/fields", "route", route, "standing", standing)
}

// listPath puts the filters that are not empty behind a path.
func listPath(path string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// local says whether an address names a place on this listener, so that a form may send people back to it.
func local(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && !strings.ContainsAny(path, "\\\r\n\t")
}
