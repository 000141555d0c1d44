{{- define "shadowdiff.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "shadowdiff.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "shadowdiff.labels" -}}
{{ include "shadowdiff.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "shadowdiff.secret" -}}
{{- if .Values.existingSecret }}{{ .Values.existingSecret }}{{ else }}{{ include "shadowdiff.name" . }}{{ end }}
{{- end }}

{{/* The configuration file: the user's, with what the chart decides over it. An address that is empty is left out. */}}
{{- define "shadowdiff.config" -}}
{{- $config := deepCopy .Values.config }}
{{- range list "primary" "secondary" "candidate" }}{{ if not (get $config .) }}{{ $_ := unset $config . }}{{ end }}{{ end }}
{{- $_ := required "config.primary is required: the address of the service that clients ask today, such as http://shop.shop.svc:80" (get $config "primary") }}
{{- $web := get $config "web" | default dict }}
{{- if get $web "token" }}{{ fail "config.web.token would be in a ConfigMap for all to read: give token, or existingSecret" }}{{ end }}
{{- $store := get $config "store" | default dict }}
{{- $_ := set $config "listen" ":8880" }}
{{- $_ := set $config "store" (set $store "path" "/data/shadowdiff.db") }}
{{- $_ := set $config "web" (set (set $web "listen" ":8881") "token_file" "/etc/shadowdiff/token/token") }}
{{- toYaml $config }}
{{- end }}
