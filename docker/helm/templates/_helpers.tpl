{{- define "gapless.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "gapless.secret" -}}
{{ .Values.secrets.existing | default (printf "%s-secrets" .Release.Name) }}
{{- end }}

{{- /* The secrets that every stage reads from files. */}}
{{- define "gapless.secretKeys" -}}
{{ concat (list "database-url" "secret-encryption-keys") (keys .Values.secrets.more | sortAlpha) | join "," }}
{{- end }}

{{- define "gapless.labels" -}}
{ app.kubernetes.io/instance: {{ .Release.Name | quote }}, app.kubernetes.io/part-of: gapless }
{{- end }}
