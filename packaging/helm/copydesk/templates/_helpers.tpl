{{- define "copydesk.name" -}}
{{- if contains "copydesk" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-copydesk{{ end }}
{{- end }}

{{- define "copydesk.secret" -}}
{{- .Values.existingSecret | default (include "copydesk.name" .) }}
{{- end }}

{{- define "copydesk.labels" -}}
app.kubernetes.io/name: copydesk
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "copydesk.pod" -}}
automountServiceAccountToken: false
# What Kubernetes says of services in variables is of no use here.
enableServiceLinks: false
# Longer than limits.shutdown_time.
terminationGracePeriodSeconds: 45
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "copydesk.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources: {{- toYaml .Values.resources | nindent 2 }}
{{- end }}

{{- define "copydesk.container" -}}
{{ include "copydesk.image" . }}
envFrom:
  - secretRef:
      name: {{ include "copydesk.secret" . }}
livenessProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: admin }
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{- define "copydesk.env" -}}
# A folder of its own: the root of a volume belongs to root and is open to the group.
- name: COPYDESK_DATA_DIR
  value: /var/lib/copydesk/data
- name: COPYDESK_PUBLIC_URL
  value: {{ .Values.publicUrl | quote }}
# The kubelet asks from outside of the pod; the service does not lead here.
- name: COPYDESK_ADMIN_LISTEN
  value: 0.0.0.0:4401
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
