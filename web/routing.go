package web

import (
	"io/fs"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// Handler answers everything on the admin listener.
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(secureHeaders, s.knownHost, s.belowPrefix, middleware.GetHead)
	r.Get("/healthz", s.api(s.alive))
	r.Get("/readyz", s.api(s.ready))
	r.Group(func(r chi.Router) {
		r.Use(s.authorised, s.sameOrigin, s.whenReady)
		s.routePages(r)
		r.Route("/api/v1", s.routeAPI)
		r.Method(http.MethodGet, "/metrics", s.deps.Metrics.handler(s.deps.Log))
		r.With(compressed).Get("/openapi.yaml", s.api(s.openapi))
	})
	// What is not there is told to those only who may see the rest: its page has the frame of the others.
	r.NotFound(s.authorised(s.whenReady(http.HandlerFunc(s.notFound))).ServeHTTP)
	r.MethodNotAllowed(s.authorised(s.api(func(w http.ResponseWriter, req *http.Request) error {
		methods := methodsOf(r, req.URL.Path)
		w.Header().Set("Allow", methods)
		return refuse(http.StatusMethodNotAllowed, "%s is not a method of %s, which takes %s", req.Method, req.URL.Path, methods)
	})).ServeHTTP)
	return r
}

// methodsOf lists the methods of an address, as the header Allow does.
func methodsOf(routes chi.Routes, path string) string {
	var methods []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if routes.Match(chi.NewRouteContext(), m, path) {
			methods = append(methods, m)
			if m == http.MethodGet {
				methods = append(methods, http.MethodHead)
			}
		}
	}
	return strings.Join(methods, ", ")
}

func (s *Server) routePages(r chi.Router) {
	r.Get("/", s.page(s.overview))
	r.Get("/routes/{id}", s.page(s.route))
	r.Get("/fields", s.page(s.fieldsList))
	r.Get("/fields/{id}", s.page(s.field))
	r.Get("/samples", s.page(s.samplesList))
	r.Get("/samples/{id}", s.page(s.sample))
	r.Get("/samples/{id}/lines", s.page(s.sampleLines))
	r.Get("/samples/{id}/body", s.page(s.sampleBody))
	r.Get("/samples/{id}/ask", s.page(s.backToSample))
	r.With(s.writable).Post("/samples/{id}/ask", s.page(s.askPage))
	r.Get("/samples/{id}/shrink", s.page(s.backToSample))
	r.With(s.writable).Post("/samples/{id}/shrink", s.page(s.shrinkPage))
	r.Get("/rules", s.page(s.rulesView))
	r.Get("/runs", s.page(s.runsView))
	r.With(s.writable).Post("/rules", s.page(s.postRulesForm))
	r.With(s.writable).Post("/runs", s.page(s.postRunForm))
	r.Get("/runs/compare", s.page(s.chooseRuns))
	r.Get("/runs/{id}", s.page(s.runView))
	r.With(s.writable).Post("/runs/{id}", s.page(s.postRunChange))
	r.Get("/runs/{a}/compare/{b}", s.page(s.compareView))
	r.Get("/activity", s.page(s.activity))
	r.Get("/settings", s.page(s.settings))
	r.Get("/help", s.page(s.help))
	r.With(s.writable).Post("/reload", s.page(s.formReload))
	r.With(s.writable).Post("/backup", s.page(s.postBackup))
	r.Post("/theme", s.page(s.setTheme)) // the reader's own affair: also when nothing else may be changed
	r.With(s.writable).Post("/shadowing", s.page(s.postShadowing))
	r.Get("/static/*", s.static())
}

func (s *Server) routeAPI(r chi.Router) {
	r.Use(compressed)
	r.Get("/equivalence", s.api(s.equivalence))
	r.Get("/report", s.api(s.report))
	r.Get("/tallies", s.api(s.tallies))
	r.Get("/gate", s.api(s.gate))
	r.Post("/gate", s.api(s.gate)) // for those who can only POST: it changes nothing
	r.Get("/routes", s.api(s.listRoutes))
	r.Get("/fields", s.api(s.listFields))
	r.Get("/profile", s.api(s.profile))
	r.Get("/attributes", s.api(s.attributes))
	r.Get("/series", s.api(s.listSeries))
	r.Get("/samples", s.api(s.listSamples))
	r.Get("/samples/{id}", s.api(s.getSample))
	r.Get("/samples/{id}/curl", s.api(s.sampleCurl))
	r.Get("/samples/{id}/har", s.api(s.sampleHAR))
	r.Get("/samples/{id}/case", s.api(s.sampleCase))
	r.With(s.writable).Post("/samples/{id}/ask", s.api(s.postAsk))
	r.With(s.writable).Post("/samples/{id}/shrink", s.api(s.postShrink))
	r.Get("/runs", s.api(s.listRuns))
	r.With(s.writable).Post("/runs", s.api(s.postRun))
	r.Get("/runs/{id}", s.api(s.getRun))
	r.With(s.writable).Patch("/runs/{id}", s.api(s.patchRun))
	r.Get("/runs/{a}/compare/{b}", s.api(s.compareRuns))
	r.Get("/rules", s.api(s.listRules))
	r.With(s.writable).Post("/rules", s.api(s.postRules))
	r.With(s.writable).Delete("/rules/{id}", s.api(s.deleteRule))
	r.Post("/rules/preview", s.api(s.postPreview)) // it changes nothing
	r.Get("/suggestions", s.api(s.listSuggestions))
	r.Get("/counters", s.api(s.counters))
	r.Get("/activity", s.api(s.listActivity))
	r.Get("/shadowing", s.api(s.shadowingState))
	r.With(s.writable).Put("/shadowing", s.api(s.putShadowing))
	r.Get("/reload", s.api(s.reloadState))
	r.With(s.writable).Post("/reload", s.api(s.postReload))
	r.With(s.writable).Post("/backup", s.api(s.postBackup))
	r.With(s.writable).Post("/purge", s.api(s.postPurge))
	r.Get("/events", s.api(s.events))
}

// belowPrefix takes the path of web.base_url away, if the reverse proxy in front has not done so already.
func (s *Server) belowPrefix(next http.Handler) http.Handler {
	if s.prefix == "" {
		return next
	}
	stripped := http.StripPrefix(s.prefix, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == s.prefix:
			http.Redirect(w, r, s.prefix+"/", http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, s.prefix+"/"):
			stripped.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// whenReady has requests wait for a run: what was counted before may be read for seconds after a start.
func (s *Server) whenReady(next http.Handler) http.Handler {
	if s.deps.Ready == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.deps.Ready:
			next.ServeHTTP(w, r)
		case <-s.closing:
			s.api(func(http.ResponseWriter, *http.Request) error {
				return refuse(http.StatusServiceUnavailable, "shadowdiff is stopping")
			}).ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}

// static serves the embedded files; their address holds a digest, so they never change under it.
func (s *Server) static() http.HandlerFunc {
	files, _ := fs.Sub(staticFiles, "static") // a constant, valid path
	serve := http.StripPrefix("/static/", http.FileServerFS(files))
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			s.notFound(w, r) // no listings
			return
		}
		if r.URL.Query().Get("v") == s.pages.asset {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			w.Header().Set("Cache-Control", "no-cache")
		}
		serve.ServeHTTP(w, r)
	}
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	err := refuse(http.StatusNotFound, "there is nothing at %s; the dashboard starts at %s/", r.URL.Path, s.prefix)
	if strings.HasPrefix(r.URL.Path, "/api/") || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeProblem(w, err)
		return
	}
	s.page(func(http.ResponseWriter, *http.Request) error { return err })(w, r)
}

// alive answers GET /healthz: the process serves.
func (s *Server) alive(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, health{Status: "ok"})
}

// ready answers GET /readyz: 200 from the moment when clients are served and shadows asked until the process is told to
// end, else 503. Upstreams, a failing disk and a part that has failed are reported, not required: clients are served from
// the primary all the same. Where there is a token, those without it are told no more than the status.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	now := s.deps.Instance()
	status := http.StatusOK
	if now.Phase != PhaseServing {
		status = http.StatusServiceUnavailable
	}
	if !s.admits(r) {
		return writeStatus(w, status, health{Status: now.Phase})
	}
	h := health{Status: now.Phase, Store: "ok", Shadowing: "on", Failed: now.Failed}
	stored := s.deps.DB.Health()
	if stored.Err != "" {
		h.Store = stored.Err
	}
	if stored.Aside != nil {
		h.SetAside = stored.Aside.Path
	}
	if !s.deps.Proxy.Shadowing().Enabled {
		h.Shadowing = "off"
	}
	return writeStatus(w, status, h)
}

type health struct {
	Status    string   `json:"status"`
	Store     string   `json:"store,omitempty"`
	SetAside  string   `json:"set_aside,omitempty"` // where a broken database is now
	Shadowing string   `json:"shadowing,omitempty"`
	Failed    []string `json:"failed,omitempty"`
}
