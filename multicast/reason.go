package multicast

// Reason says why a request was skipped or dropped, or why an exchange is unknown; the words are those of
// GET /api/v1/counters. The empty reason means none.
type Reason string

// Reasons for which no shadow was asked, in the order in which they are looked for. Those from ReasonClientAborted on
// make an exchange unknown when they come to light after the shadows were asked.
const (
	ReasonDisabled          Reason = "disabled" // the switch is off, or there is no candidate; dropped: switched off while it waited
	ReasonConnect           Reason = "connect"
	ReasonUpgrade           Reason = "upgrade"
	ReasonSignedIn          Reason = "signed_in" // the client has done so on its connection, with NTLM or Negotiate
	ReasonLoop              Reason = "loop"      // the request is itself a shadow
	ReasonRoute             Reason = "route"     // its route says shadow: false
	ReasonMethod            Reason = "method"
	ReasonNotSampled        Reason = "not_sampled"
	ReasonGuard             Reason = "guard" // it has paused shadowing
	ReasonClientAborted     Reason = "client_aborted"
	ReasonPrimaryFailed     Reason = "primary_failed"     // no answer, or none that was whole
	ReasonPrimaryRefused    Reason = "primary_refused"    // 429 and 503
	ReasonRequestIncomplete Reason = "request_incomplete" // the primary answered before the request body was whole, or the client sent what is no request
	ReasonBodyTooLarge      Reason = "body_too_large"     // over max_request_body
	ReasonStream            Reason = "stream"             // an answer without an end
)

// Reasons for which a sampled request was dropped.
const (
	ReasonQueue   Reason = "queue"   // full, or waited longer than the timeout
	ReasonMemory  Reason = "memory"  // the budget is spent; unknown when the shadows were asked already
	ReasonCircuit Reason = "circuit" // a shadow has failed so often that both are left alone for a time
)

// Reasons for which an exchange cannot be judged though its shadows were asked.
const (
	ReasonPrimaryIncomplete Reason = "primary_incomplete" // cut off, or not whole a timeout after the shadows ended
	ReasonShadowsFailed     Reason = "shadows_failed"     // both
	ReasonStale             Reason = "stale"
	ReasonLineage           Reason = "lineage" // they tell of different data
	ReasonOversize          Reason = "oversize"
	ReasonCancelled         Reason = "cancelled" // the switch went off, or the process stood still at a deadline
	ReasonShutdown          Reason = "shutdown"
	ReasonPanic             Reason = "panic" // on the shadow side
)

// Why a request that was to be recorded was not, beside the reasons that dropped and skipped requests have.
const (
	ReasonDisk   Reason = "disk"   // it took nothing
	ReasonPurged Reason = "purged" // what was asked at its time was deleted meanwhile
)

// SkipReasons are all for which a request is skipped.
func SkipReasons() []Reason {
	return append([]Reason{
		ReasonDisabled, ReasonConnect, ReasonUpgrade, ReasonSignedIn, ReasonLoop, ReasonRoute, ReasonMethod, ReasonNotSampled, ReasonGuard,
	}, lateReasons()...)
}

// lateReasons skip a request that was sampled, and make an exchange unknown when they come to light later.
func lateReasons() []Reason {
	return []Reason{
		ReasonClientAborted, ReasonPrimaryFailed, ReasonPrimaryRefused, ReasonRequestIncomplete, ReasonBodyTooLarge, ReasonStream,
	}
}

// DropReasons are all for which an exchange is dropped.
func DropReasons() []Reason {
	return []Reason{ReasonQueue, ReasonMemory, ReasonCircuit, ReasonDisabled}
}

// UnknownReasons are all for which an exchange is unknown.
func UnknownReasons() []Reason {
	return append([]Reason{
		ReasonPrimaryIncomplete, ReasonShadowsFailed, ReasonStale, ReasonLineage, ReasonOversize, ReasonCancelled, ReasonShutdown, ReasonPanic,
		ReasonQueue, ReasonMemory,
	}, lateReasons()...)
}
