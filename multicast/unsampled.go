package multicast

import "strings"

// unsampled is a header as a copy gets it: one that says of a trace that it is recorded says that it is not, so that copies
// leave nothing among the spans of real requests. The trace itself stays the same, for logs.
func unsampled(name string, values []string) []string {
	var off func(string) string
	switch name {
	case "Traceparent", "Elastic-Apm-Traceparent":
		off = unsampledParent
	case "B3":
		off = unsampledB3
	case "X-B3-Sampled", "X-B3-Flags", "X-Datadog-Sampling-Priority":
		off = undecided
	case "Uber-Trace-Id":
		off = unsampledJaeger
	case "X-Amzn-Trace-Id":
		off = func(s string) string { return strings.Replace(s, "Sampled=1", "Sampled=0", 1) }
	case "X-Cloud-Trace-Context":
		off = func(s string) string { return swapSuffix(s, ";o=1", ";o=0") }
	case "Sentry-Trace":
		off = func(s string) string { return swapSuffix(s, "-1", "-0") }
	default:
		return values
	}
	quiet := make([]string, len(values))
	for i, value := range values {
		quiet[i] = off(value)
	}
	return quiet
}

// unsampledParent turns a flag of a traceparent off (W3C Trace Context, section 3.2.2.5).
func unsampledParent(parent string) string {
	const hex, flag = "0123456789abcdef", 54
	if len(parent) <= flag || len(parent) > flag+1 && parent[flag+1] != '-' {
		return parent
	}
	bits := strings.IndexByte(hex, parent[flag])
	if bits < 0 {
		return parent
	}
	return parent[:flag] + hex[bits&^1:bits&^1+1] + parent[flag+1:]
}

// unsampledB3 turns off what Zipkin's one header says third, or alone: 1, or d for debug.
func unsampledB3(b3 string) string {
	parts := strings.Split(b3, "-")
	at := 2
	if len(parts) == 1 {
		at = 0
	}
	if at < len(parts) && (parts[at] == "1" || parts[at] == "d") {
		parts[at] = "0"
	}
	return strings.Join(parts, "-")
}

// undecided turns a decision that has a header of its own to 0. Below it are others not to record.
func undecided(decision string) string {
	switch decision {
	case "1", "2", "true":
		return "0"
	}
	return decision
}

// unsampledJaeger clears the flags, which come last of four.
func unsampledJaeger(id string) string {
	if last := strings.LastIndexByte(id, ':'); strings.Count(id, ":") == 3 {
		return id[:last+1] + "0"
	}
	return id
}

func swapSuffix(s, from, to string) string {
	if before, found := strings.CutSuffix(s, from); found {
		return before + to
	}
	return s
}
