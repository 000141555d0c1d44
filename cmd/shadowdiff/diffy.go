package main

// diffyFlags says for each flag of Diffy what serves here instead. The map has them without their dash; two of them,
// -candidate among them, mean the same here and are not listed.
//
// Source: the flags that twitter/diffy and opendiffy/diffy document. docs/from-diffy.md has the same list for people.
func diffyFlags() map[string]string {
	const email = "there is no email; webhook.url gets the verdict when it changes, and `shadowdiff gate -report FILE` writes a report"
	const thrift = "Thrift is not spoken; HTTP/1.1, HTTP/2 and gRPC are"
	const threshold = "no threshold hides a difference; verdict.budget is the excess that is acceptable (0.1%)"
	return map[string]string{
		"master.primary":               "it is -primary URL here, such as -primary http://127.0.0.1:9001",
		"master.secondary":             "it is -secondary URL here, such as -secondary http://127.0.0.1:9002",
		"proxy.port":                   "it is -listen here, such as -listen :8880",
		"http.port":                    "the dashboard is at -admin here, such as -admin 127.0.0.1:8881",
		"admin.port":                   "the dashboard and the metrics are at -admin here, such as -admin 127.0.0.1:8881",
		"httpsPort":                    "give the primary's URL with https://, and clients tls: {cert: , key: } in the configuration",
		"service.protocol":             "leave it out: the URLs say http or https, and gRPC is recognised",
		"serviceName":                  "leave it out: a run has a name (POST /api/v1/runs), and the service is what -primary says",
		"rootUrl":                      "it is web.base_url in the configuration",
		"hostname":                     "it is web.base_url in the configuration",
		"allowHttpSideEffects":         "name the routes that may be copied: routes: [{match: \"POST /quote\", shadow: true}], or methods: in the configuration",
		"responseMode":                 "clients always get the primary's answer",
		"excludeHttpHeadersComparison": "the rule {drop: \"header.*\"} leaves out all headers; better name those that are noise, in headers: {ignore: []}",
		"resource.mapping":             "routes: in the configuration names routes; without it they are named by the shape of their path",
		"threshold.relative":           threshold,
		"threshold.absolute":           threshold,
		"summary.delay":                email,
		"summary.email":                email,
		"teamEmail":                    email,
		"emailDelay":                   email,
		"skipEmailsWhenNoErrors":       email,
		"enableThriftMux":              thrift,
		"thrift.jar":                   thrift,
		"serviceClass":                 thrift,
		"clientId":                     thrift,
		"maxHeaderSize":                "it is server.max_header in the configuration",
		"maxResponseSize":              "it is shadow.max_response_body in the configuration; what is longer is served, and compared by length and hash",
	}
}

// fromDiffy answers with what serves instead of one of Diffy's flags; "" for any other.
func fromDiffy(name string) string { return diffyFlags()[name] }
