// The results of pipelines, jobs and deployments: failures, and deployments that have finished.
import { entryOf, plain, quote, words } from 'svc-gateway/kit'
import { type EventHandler, mostListed } from './event-text.ts'

export const describePipeline: EventHandler = (payload) => {
  const { object_attributes: pipeline, builds, merge_request: request, project } = payload
  if (pipeline?.status !== 'failed') return null
  const failed = (builds ?? []).filter(({ status }) => status === 'failed')
  const more = failed.length > mostListed && `- and ${failed.length - mostListed} more`
  const page = project?.web_url && pipeline.id ? `${project.web_url}/-/pipelines/${pipeline.id}` : undefined
  return {
    head: words(
      'Pipeline',
      pipeline.id ? `#${pipeline.id}` : '',
      quote(pipeline.name),
      'failed',
      pipeline.ref && `on ${pipeline.ref}`,
    ),
    details: [
      ...failed
        .slice(0, mostListed)
        .map(({ name, stage }) => words('- job', name ?? 'without a name', stage && `of stage ${stage}`)),
      more,
    ],
    link: pipeline.url ?? page,
    subject: request?.iid ? `!${request.iid}` : undefined,
  }
}

/** The session is that of the job: its name is not unique. */
export const describeJob: EventHandler = (payload) => {
  const { build_id: id, build_name: name, build_stage: stage, build_failure_reason: reason, ref, project } = payload
  if (payload.build_status !== 'failed') return null
  return {
    head: words('Job', quote(name), stage && `of stage ${stage}`, 'failed', ref && `on ${ref}`),
    details: [reason && reason !== 'unknown_failure' && `Reason: ${plain(reason)}`],
    link: project?.web_url && id ? `${project.web_url}/-/jobs/${id}` : undefined,
  }
}

export const describeDeployment: EventHandler = ({ status, environment, ref, deployable_url: link }) => {
  const outcomes: Record<string, string> = { success: 'succeeded', failed: 'failed' }
  const outcome = entryOf(outcomes, status)
  const target = typeof environment === 'string' && environment ? environment : 'an environment'
  return outcome === undefined
    ? null
    : { head: words('The deployment', ref && `of ${ref}`, `to ${target} ${outcome}`), link }
}
