// The detail of a request: why it was rejected, what the agents read, its runs, its body and headers, and the actions.
import { useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { copyText } from '../ui/copy.ts'
import { Body } from '../ui/json.tsx'
import { DetailHead, LoadedDetail } from '../ui/list.tsx'
import { Button, Code, Facts, hiddenText, Notice, RecordLink, Section, Status, Time } from '../ui/parts.tsx'
import { formatCurl } from './curl.ts'
import { ReplayDialog } from './replay.tsx'

type Request = Reply<'GET /api/requests/{id}'>

export function Detail({ id, back }: { id: string; back: string }) {
  const { call } = useApp()
  const request = useLoaded(`request ${id}`, () => call('GET /api/requests/{id}', { path: { id } }))
  useLive('run', (changes) => {
    const runIds = request.value.peek()?.runIds ?? []
    if (changes.some((run) => runIds.includes(run.id))) void request.reload()
  })
  return (
    <LoadedDetail of={request} noun="request" back={back}>
      {(value) => <Loaded request={value} back={back} />}
    </LoadedDetail>
  )
}

function Loaded({ request, back }: { request: Request; back: string }) {
  const { hook, status, at, body, headers, query, actions, runs } = request
  return (
    <>
      <DetailHead title={hook} back={back} badge={<Status of={status} />} actions={<Actions request={request} />} />
      <div class="body">
        <Outcome request={request} />
        <Facts
          of={[
            ['Arrived', <Time key="at" at={at} />],
            ['From', request.client],
            ['Authenticated by', describeAuthentication(request)],
            ['Mapping', mappingOf(request)],
            ['Replay of', request.replayOf && <RecordLink key="replay" view="requests" id={request.replayOf} />],
            ['Id', <code key="id">{request.id}</code>],
          ]}
        />
        {runs.length > 0 && (
          <Section title="Runs">
            <ul class="rows card">
              {runs.map((run) => (
                <li key={run.id}>
                  <a class="row run-row" href={formatFragment({ view: 'runs', item: run.id })}>
                    <Status of={run.status} />
                    <span class="grow">{run.reply ?? run.error?.message ?? run.name ?? run.agentId}</span>
                    <span class="muted small">{run.agentId}</span>
                  </a>
                </li>
              ))}
            </ul>
          </Section>
        )}
        {actions.length > 0 && (
          <Section title="What the agent reads">
            {actions.map(({ action, runId, eventId, message, sessionKey }) => (
              <div class="stack" key={runId ?? eventId}>
                <span class="muted small">
                  {action === 'wake' ? 'An event for' : 'A run in'}{' '}
                  {sessionKey === undefined ? (
                    'the main session'
                  ) : (
                    <a class="break" href={formatFragment({ view: 'sessions', item: sessionKey })}>
                      {sessionKey}
                    </a>
                  )}
                </span>
                {message === undefined ? (
                  <p class="muted">It is not stored any more.</p>
                ) : (
                  <Code label="Message" text={message} />
                )}
              </div>
            ))}
          </Section>
        )}
        <Mappings request={request} />
        <Section title="Body">
          {body === undefined ? (
            <p class="muted">{hiddenText}</p>
          ) : body === null ? (
            <p class="muted">No body was read, or the hook does not keep it.</p>
          ) : body === '' ? (
            <p class="muted">The body is empty.</p>
          ) : (
            <Body text={body} label="Body" />
          )}
        </Section>
        {headers && <Pairs title="Headers" of={headers} />}
        {query && Object.keys(query).length > 0 && <Pairs title="Query" of={query} />}
      </div>
    </>
  )
}

function Outcome({ request: { error, count, reason, skippedBy, status } }: { request: Request }) {
  if (error)
    return (
      <Notice tone="bad">
        <strong>{status === 'rejected' ? 'Rejected: ' : 'Failed: '}</strong>
        {error.message} <code class="muted">{error.type}</code>
        {error.detail !== undefined && <div class="small break">{error.detail}</div>}
        {count !== undefined && <p>This record stands for {count} requests, of which it describes the last one.</p>}
      </Notice>
    )
  if (status === 'duplicate')
    return <Notice>The sender repeated a request that was accepted before, so it started nothing.</Notice>
  if (status !== 'skipped') return null
  if (reason === 'handshake')
    return (
      <Notice>The service verified the address of the hook. The gateway answered it, and nothing was started.</Notice>
    )
  if (skippedBy)
    return (
      <Notice>
        Rule {skippedBy.rule + 1} in <code>skip</code> of the mapping <code>{skippedBy.mapping}</code> applies, so
        nothing was started.
      </Notice>
    )
  return <Notice>The mapping made no action of this request, so nothing was started.</Notice>
}

const mappingOf = ({ skippedBy, runs }: Request): string | undefined => skippedBy?.mapping ?? runs[0]?.origin.mapping

/** Which mapping of the hook takes the request, and why the others do not. */
function Mappings({ request: { hook, mappings = [] } }: { request: Request }) {
  const { may } = useMe()
  const used = mappings.findIndex(({ isUsed }) => isUsed)
  if (mappings.length === 0) return null
  return (
    <Section
      title="Mappings"
      action={
        may('GET /api/hooks') && (
          <a class="small" href={formatFragment({ view: 'hooks', item: hook })}>
            The hook
          </a>
        )
      }
    >
      <ol class="rows card" aria-label="Mappings">
        {mappings.map(({ id, isUsed, unmet }) => (
          <li key={id} class="row mapping-row">
            <strong>{id}</strong>
            <span class="muted break">
              {isUsed ? (
                'matches first, so it is used'
              ) : unmet.length > 0 ? (
                <>
                  does not match: <code>{unmet.join(', ')}</code>
                </>
              ) : (
                `is not reached, because ${mappings[used]?.id ?? 'another one'} comes before it`
              )}
            </span>
          </li>
        ))}
      </ol>
      {used === -1 && <p class="muted">No mapping matches, so the hook would refuse the request.</p>}
    </Section>
  )
}

function describeAuthentication({ authentication }: Request): string {
  if (!authentication) return 'an operator, as a replay'
  const { scheme, secret } = authentication
  const name = scheme === 'hook-token' ? 'the hook token' : scheme
  return secret === undefined ? name : `${name}, secret ${secret + 1}`
}

function Pairs({ title, of }: { title: string; of: Readonly<Record<string, string | readonly string[]>> }) {
  const pairs = Object.entries(of)
  return (
    <Section title={title}>
      {pairs.length === 0 ? (
        <p class="muted">None.</p>
      ) : (
        <div class="card wide">
          <table class="table">
            <thead class="hidden-label">
              <tr>
                <th>Name</th>
                <th>Value</th>
              </tr>
            </thead>
            <tbody>
              {pairs.map(([name, value]) => (
                <tr key={name}>
                  <td class="muted mono">{name}</td>
                  <td class="mono">{[value].flat().join(', ')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  )
}

function Actions({ request }: { request: Request }) {
  const { call, toasts } = useApp()
  const { may, content } = useMe()
  const [isEditing, setEditing] = useState(false)
  const { id, hook, headers, query, body } = request
  const replay = async (): Promise<void> => {
    const { requestId } = await call('POST /api/requests/{id}/replay', { path: { id }, body: {} })
    toasts.show({
      text: 'The request was replayed.',
      tone: 'good',
      ...(requestId !== undefined && {
        link: { href: formatFragment({ view: 'requests', item: requestId }), text: 'Show it' },
      }),
    })
  }
  const copy = async (): Promise<void> => {
    const { items } = may('GET /api/hooks') ? await call('GET /api/hooks') : { items: [] }
    const path = items.find(({ name }) => name === hook)?.path ?? `/hooks/${hook}`
    const url = new URL(path.slice(1), new URL('.', location.href)).href
    await copyText(formatCurl({ url, headers: headers ?? {}, query: query ?? {}, body: body ?? null }))
    toasts.show({ text: 'Copied. The command reads the credential from $HOOK_TOKEN.', tone: 'good' })
  }
  return (
    <>
      {may('POST /api/requests/{id}/replay') && (
        <>
          <Button icon="replay" onClick={replay}>
            Replay
          </Button>
          {content && <Button onClick={() => setEditing(true)}>Edit and replay</Button>}
        </>
      )}
      {content && may('POST /api/hooks/preview') && (
        <a class="button quiet" href={formatFragment({ view: 'workbench', item: id })}>
          Write a mapping
        </a>
      )}
      {content && (
        <Button kind="quiet" onClick={copy}>
          Copy as curl
        </Button>
      )}
      {isEditing && <ReplayDialog request={request} onClose={() => setEditing(false)} />}
    </>
  )
}
