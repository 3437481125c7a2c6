// The preset for CircleCI: workflows and jobs that failed; one session per branch.
import { entryOf, eventMessage, line, Maybe, quote, shortHash, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Named = Maybe(Type.Object({ name: Text }))

/** What was built, in projects of GitLab, of the GitHub App and of Bitbucket Data Center. */
const Source = Maybe(
  Type.Object({
    branch: Text,
    tag: Text,
    checkout_sha: Text,
    commit_sha: Text,
    commit_title: Text,
    commit_message: Text,
    commit_author_name: Text,
  }),
)

const Payload = Type.Object({
  id: Text,
  type: Type.String({ minLength: 1 }),
  project: Maybe(Type.Object({ name: Text, slug: Text })),
  organization: Named,
  workflow: Maybe(Type.Object({ name: Text, status: Text, url: Text })),
  job: Maybe(Type.Object({ name: Text, status: Text })),
  pipeline: Maybe(
    Type.Object({
      // In projects of Bitbucket Cloud and of the OAuth app of GitHub.
      vcs: Maybe(
        Type.Object({
          branch: Text,
          tag: Text,
          revision: Text,
          commit: Maybe(Type.Object({ subject: Text, author: Named })),
        }),
      ),
      trigger_parameters: Maybe(Type.Object({ git: Source, gitlab: Source, github_app: Source })),
    }),
  ),
})
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'circleci',
  description: 'Workflows and jobs of CircleCI that failed.',
  payload: Payload,
  mapping: { name: 'CircleCI' },
  auth: { scheme: 'hmac', header: 'circleci-signature', separator: ',', prefix: 'v1=' },
  deliveryId: ({ payload }) => payload.id || undefined,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** Results that are reported. A person has canceled what is `canceled`. */
const failures: Readonly<Record<string, string>> = {
  failed: 'failed',
  error: 'ended with an error',
  unauthorized: 'was not allowed to run',
}

function toAction({ payload }: PresetRequest<Payload>) {
  const { type, workflow, project } = payload
  const ofJob = type === 'job-completed'
  const failure = entryOf(failures, ofJob ? payload.job?.status : workflow?.status)
  if (failure === undefined || (!ofJob && type !== 'workflow-completed')) return null
  const { ref, sha, title, author } = sourceOf(payload)
  const commit = words(shortHash(sha), quote(title?.split('\n', 1)[0], 200), author && `by ${line(author, 100)}`)
  const job = ofJob && `${named('job', payload.job?.name)} of`
  const message = eventMessage('CircleCI', {
    head: words(job, named('workflow', workflow?.name), failure, ref && `on ${line(ref, 100)}`),
    place: placeOf(payload),
    details: [commit && `Commit: ${commit}`],
    link: workflow?.url,
  })
  const branch = line(ref, 200)
  return { message, sessionKey: `hook:circleci:${line(project?.slug, 200) || 'project'}${branch && `#${branch}`}` }
}

const named = (kind: string, name: string | null | undefined): string =>
  name ? `${kind} ${quote(name, 100)}` : `a ${kind}`

function placeOf({ organization, project }: Payload): string {
  return [line(organization?.name, 100), line(project?.name, 100)].filter(Boolean).join('/')
}

function sourceOf({ pipeline }: Payload) {
  const { git, gitlab, github_app: github } = pipeline?.trigger_parameters ?? {}
  const sources = [git, gitlab, github]
  const { vcs } = pipeline ?? {}
  const first = (key: keyof NonNullable<typeof git>) => sources.map((source) => source?.[key]).find(Boolean)
  return {
    ref: vcs?.branch || vcs?.tag || first('branch') || first('tag'),
    sha: vcs?.revision || first('checkout_sha') || first('commit_sha'),
    title: vcs?.commit?.subject || first('commit_title') || first('commit_message'),
    author: vcs?.commit?.author?.name || first('commit_author_name'),
  }
}
