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

{{- define "lockgate.redis.selector" -}}
app.kubernetes.io/name: lockgate-redis
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lockgate.store" -}}
{{ if .Values.redis.enabled }}redis://{{ include "lockgate.name" . }}-redis:6379/0{{ else }}{{ .Values.store }}{{ end }}
{{- end }}

{{- define "lockgate.probe" -}}
{{ if .Values.clientCaSecret }}port: probes, scheme: HTTP{{ else }}port: http, scheme: {{ include "lockgate.scheme" . | upper }}{{ end }}
{{- end }}

{{- define "lockgate.check" -}}
{{- if and .Values.clientCaSecret (not .Values.tlsSecret) }}
{{- fail "clientCaSecret asks callers for certificates, which needs https: name the certificate of the coordinators in tlsSecret" }}
{{- end }}
{{- if and .Values.redis.enabled (not .Values.redisSecret) }}
{{- fail "redis.enabled needs redisSecret: name the secret with the password that the Redis is to have" }}
{{- end }}
{{- if and (not .Values.tokensSecret) (not .Values.allowUnauthenticated) }}
{{- fail "tokensSecret is empty: name the secret that holds tokens.toml, or set allowUnauthenticated=true" }}
{{- end }}
{{- if and (hasPrefix "memory:" (include "lockgate.store" .)) (or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled) }}
{{- fail "store is memory://, which one coordinator has for itself: set replicas=1 without autoscaling, or a redis:// store" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host is empty: name the host under which the coordinator is reached" }}
{{- end }}
{{- end }}
