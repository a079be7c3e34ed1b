{{- define "toolfold.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "toolfold.selector" -}}
app.kubernetes.io/name: toolfold
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "toolfold.labels" -}}
{{ include "toolfold.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "toolfold.pod" -}}
automountServiceAccountToken: false
# Otherwise a Service that is called toolfold would set TOOLFOLD_PORT.
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: policy
    configMap: {name: {{ .Values.existingPolicy | default (printf "%s-policy" (include "toolfold.name" .)) }}}
{{- with .Values.upstreamKey }}{{ if .secret }}
  - name: keys
    secret:
      secretName: {{ .secret }}
      defaultMode: 0440
      items: [{key: {{ .key }}, path: upstream}]
{{- end }}{{ end }}
{{- end }}

{{- define "toolfold.container" -}}
name: toolfold
image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - configMapRef: {name: {{ include "toolfold.name" . }}}
{{- if or .Values.redis.secret .Values.env }}
env:
{{- with .Values.redis }}{{ if .secret }}
  - name: TOOLFOLD_REDIS_URL
    valueFrom:
      secretKeyRef: {name: {{ .secret }}, key: {{ .key }}}
{{- end }}{{ end }}
{{- with .Values.env }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
resources: {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - {name: policy, mountPath: /etc/toolfold/policy, readOnly: true}
{{- if .Values.upstreamKey.secret }}
  - {name: keys, mountPath: /etc/toolfold/keys, readOnly: true}
{{- end }}
{{- end }}

{{/* Numbers as people write them: Helm would make 1e+06 of a million. */}}
{{- define "toolfold.written" -}}
{{- if kindIs "slice" . }}{{ join "," . }}{{ else if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}
