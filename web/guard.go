package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// policy lets pages load from this listener alone and run nothing inline.
const policy = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		next.ServeHTTP(w, r)
	})
}

// knownHost refuses foreign Host headers on a loopback listener: without it any web page could reach it by a name of its
// own that resolves to 127.0.0.1.
func (s *Server) knownHost(next http.Handler) http.Handler {
	listenHost, _, _ := net.SplitHostPort(s.cfg.Listen)
	if !loopback(listenHost) {
		return next
	}
	base, _ := url.Parse(s.cfg.BaseURL)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.Trim(host, "[]")
		if loopback(host) || strings.EqualFold(host, listenHost) || (base != nil && base.Host != "" && strings.EqualFold(r.Host, base.Host)) {
			next.ServeHTTP(w, r)
			return
		}
		writeProblem(w, refuse(http.StatusMisdirectedRequest,
			"the host %q is not this listener's; ask for %s, or set web.base_url to the address people use", r.Host, s.cfg.Listen))
	})
}

// authorised asks for the token, as bearer or as basic password under any name.
func (s *Server) authorised(next http.Handler) http.Handler {
	if s.cfg.Token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.admits(r) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="shadowdiff", charset="UTF-8"`)
		w.Header().Add("WWW-Authenticate", `Bearer realm="shadowdiff"`)
		w.Header().Set("Connection", "close") // strangers keep none
		writeProblem(w, refuse(http.StatusUnauthorized,
			"web.token is set here; send it as `Authorization: Bearer TOKEN`, or as the password of basic authentication"))
	})
}

// knows tells whether a request comes with the token, if there is one. The time that it takes tells nothing of the token,
// nor of its length.
func (s *Server) knows(r *http.Request) bool {
	if s.cfg.Token == "" {
		return true
	}
	want, got := sha256.Sum256([]byte(s.cfg.Token)), sha256.Sum256([]byte(offeredToken(r)))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

func offeredToken(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// sameOrigin refuses writes that a browser makes for another site.
func (s *Server) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	if u, err := url.Parse(s.cfg.BaseURL); err == nil && u.Host != "" {
		_ = protection.AddTrustedOrigin(u.Scheme + "://" + u.Host) // Validate has seen it
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, refuse(http.StatusForbidden,
			"a page of another site may not change anything here; if this is shadowdiff's own page behind a proxy, set web.base_url to its address"))
	}))
	return protection.Handler(next)
}

// writable refuses writes under read_only.
func (s *Server) writable(next http.Handler) http.Handler {
	if !s.cfg.ReadOnly {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, refuse(http.StatusForbidden, "web.read_only is set: nothing can be changed through this listener"))
	})
}
