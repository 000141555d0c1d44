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
{{- $_ := required "config.primary is required: the address of the service that clients ask today, such as http://shop.shop.svc:80" $config.primary }}
{{- $store := merge (dict "path" "/data/shadowdiff.db") ($config.store | default dict) }}
{{- $web := merge (dict "listen" ":8881" "token_file" "/etc/shadowdiff/token/token") (omit ($config.web | default dict) "token") }}
{{- toYaml (merge (dict "listen" ":8880" "store" $store "web" $web) $config) }}
{{- end }}
