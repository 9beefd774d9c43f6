{{- define "gapless.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "gapless.secret" -}}
{{ .Values.secrets.existing | default (printf "%s-secrets" .Release.Name) }}
{{- end }}

{{- /* The secrets that every stage reads from files: none of the owner's. */}}
{{- define "gapless.secretKeys" -}}
{{- $keys := list "database-url" "secret-encryption-keys" }}
{{- range keys .Values.secrets.more | sortAlpha }}
{{- if not (hasPrefix "owner-" .) }}{{ $keys = append $keys . }}{{ end }}
{{- end }}
{{- join "," $keys }}
{{- end }}

{{- define "gapless.labels" -}}
{ app.kubernetes.io/instance: {{ .Release.Name | quote }}, app.kubernetes.io/part-of: gapless }
{{- end }}
