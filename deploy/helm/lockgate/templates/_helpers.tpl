{{- define "lockgate.name" -}}
{{- if contains "lockgate" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-lockgate" .Release.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "lockgate.selector" -}}
app.kubernetes.io/name: lockgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lockgate.labels" -}}
{{ include "lockgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "lockgate.scheme" -}}
{{ if .Values.tlsSecret }}https{{ else }}http{{ end }}
{{- end }}

{{- define "lockgate.check" -}}
{{- if and (not .Values.tokensSecret) (not .Values.allowUnauthenticated) }}
{{- fail "tokensSecret is empty: name the secret that holds tokens.toml, or set allowUnauthenticated=true" }}
{{- end }}
{{- if and (hasPrefix "memory:" .Values.store) (or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled) }}
{{- fail "store is memory://, which one coordinator has for itself: set replicas=1 without autoscaling, or a redis:// store" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host is empty: name the host under which the coordinator is reached" }}
{{- end }}
{{- end }}
