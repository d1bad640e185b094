{{- define "platestream.name" -}}
{{ printf "%s-%s" .root.Release.Name .process | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "platestream.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "platestream.selector" -}}
app.kubernetes.io/name: platestream
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .process }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "platestream.labels" -}}
{{ include "platestream.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- /* The settings of all processes and of one process, and its secrets. */}}
{{- define "platestream.env" -}}
{{- $variables := merge (dict) (.own | default dict) .root.Values.settings }}
{{- range $name := keys $variables | sortAlpha }}
{{- $value := get $variables $name }}
{{- /* Helm parses every number as a float, and prints large ones with an exponent. */}}
{{- if and (kindIs "float64" $value) (eq (floor $value) $value) }}
{{- $value = int64 $value }}
{{- end }}
- {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- range .secrets }}
- name: {{ . }}
  valueFrom: {secretKeyRef: {name: {{ $.root.Values.existingSecret }}, key: {{ . }}}}
{{- end }}
{{- range .optionalSecrets }}
- name: {{ . }}
  valueFrom: {secretKeyRef: {name: {{ $.root.Values.existingSecret }}, key: {{ . }}, optional: true}}
{{- end }}
{{- end }}

{{- /* The common part of all pods: no token, no privileges, writable only in emptyDir volumes. */}}
{{- define "platestream.pod" -}}
automountServiceAccountToken: false
# A service named platestream-api would set PLATESTREAM_API_PORT.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: tmp
    emptyDir: {sizeLimit: 1Gi}
  - name: state
    emptyDir: {sizeLimit: 1Gi}
  {{- range .Values.files }}
  - name: {{ .name }}
    {{- toYaml .volume | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "platestream.container" -}}
image: {{ include "platestream.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: state, mountPath: /var/lib/platestream}
  {{- range .Values.files }}
  - {name: {{ .name }}, mountPath: {{ .mountPath }}, readOnly: true}
  {{- end }}
{{- end }}

{{- define "platestream.paths" -}}
/ /api /console /search /recognitions /cameras /alerts /webhooks /keys /account /people /audit /invitation /log-in /analytics /health
{{- end }}
