// The view of hooks: each address with its mappings, how senders authenticate, and when each secret was last used.
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { DetailHead, Split } from '../ui/list.tsx'
import { Badge, Code, Empty, Facts, LoadingOf, Notice, Section, Status, Time } from '../ui/parts.tsx'
import { Activity } from './activity.tsx'
import { Samples } from './samples.tsx'

type Hook = Item<'GET /api/hooks'>
type Mapping = Hook['mappings'][number]

/** The mappings that apply to any other name have no name of their own. */
const otherNames = '(any other name)'

export function Hooks() {
  const { call, router } = useApp()
  const { item } = router.location.value
  const { may } = useMe()
  const hooks = useLoaded('hooks', () => call('GET /api/hooks'))
  const extensions = useLoaded('extensions', () => call('GET /api/extensions'))
  // A request may be the first use of a secret.
  useLive('request', () => void hooks.reload())
  const selected = hooks.value.value?.items.find(({ name = otherNames }) => name === item)
  return (
    <Split
      bar={
        <header class="bar">
          <h1>Hooks</h1>
          {may('POST /api/hooks/preview') && (
            <a class="button" href={formatFragment({ view: 'workbench' })}>
              Try a mapping
            </a>
          )}
        </header>
      }
      list={
        <LoadingOf of={hooks} what="The hooks">
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="Webhooks are off">
                <p>
                  Set <code>hooks.enabled</code> and <code>hooks.token</code> in the configuration.
                </p>
              </Empty>
            ) : (
              <ul class="rows" aria-label="Hooks">
                {items.map((hook) => (
                  <li key={hook.name}>
                    <Row hook={hook} isCurrent={(hook.name ?? otherNames) === item} />
                  </li>
                ))}
              </ul>
            )
          }
        </LoadingOf>
      }
      detail={
        selected && <Detail key={selected.name} hook={selected} presets={extensions.value.value?.presets ?? []} />
      }
    />
  )
}

function Row({ hook: { name = otherNames, mappings }, isCurrent }: { hook: Hook; isCurrent: boolean }) {
  const schemes = [...new Set(mappings.map(({ scheme }) => scheme))]
  const broken = mappings.some(({ transform }) => transform?.state === 'failed' || transform?.state === 'open')
  return (
    <a
      class="row hook-row"
      href={formatFragment({ view: 'hooks', item: name })}
      aria-current={isCurrent ? 'true' : undefined}
    >
      <strong>{name}</strong>
      <span class="muted grow">{mappings.length === 0 ? 'built in' : mappings.map(({ id }) => id).join(', ')}</span>
      <span class="end">
        {broken ? <Badge tone="bad">transform failed</Badge> : <Badge>{schemes.join(', ') || 'hook-token'}</Badge>}
      </span>
    </a>
  )
}

interface DetailProps {
  hook: Hook
  /** The names of all presets. */
  presets: readonly string[]
}

function Detail({ hook: { name, path, mappings }, presets }: DetailProps) {
  const address = path === undefined ? undefined : new URL(path.slice(1), new URL('.', location.href)).href
  return (
    <>
      <DetailHead
        title={name ?? otherNames}
        back={formatFragment({ view: 'hooks' })}
        actions={
          name !== undefined && (
            <>
              <a class="button" href={formatFragment({ view: 'requests', query: { hook: name } })}>
                Requests
              </a>
              <a class="button" href={formatFragment({ view: 'runs', query: { hook: name } })}>
                Runs
              </a>
            </>
          )
        }
      />
      <div class="body">
        {address !== undefined && (
          <Section title="Address">
            <Code label="Address" text={address} />
          </Section>
        )}
        {mappings.length === 0 ? (
          <Notice>This hook is built in. Senders authenticate with the hook token.</Notice>
        ) : (
          <p class="muted small">The first mapping whose conditions hold is used.</p>
        )}
        {mappings.map((mapping) => (
          <MappingOf key={mapping.id} mapping={mapping} />
        ))}
        {name !== undefined && <Activity hook={name} />}
        {name !== undefined && presets.includes(name) && <Samples preset={name} />}
      </div>
    </>
  )
}

function MappingOf({ mapping: { id, source, scheme, secrets = [], transform } }: { mapping: Mapping }) {
  return (
    <Section title={id} action={<Badge>{scheme}</Badge>}>
      <Facts
        of={[
          [
            'Payload',
            source && (
              <>
                with the source <code>{source}</code>
              </>
            ),
          ],
          ['Transform', transform && `${transform.module}, ${transform.export}`],
          ['State', transform && <Status key="state" of={transform.state} />],
          ['Loaded', transform?.loadedAt && <Time key="loaded" at={transform.loadedAt} />],
        ]}
      />
      {transform?.problem !== undefined && <Notice tone="bad">{transform.problem}</Notice>}
      {secrets.length > 0 && (
        <div class="card wide">
          <table class="table">
            <thead>
              <tr>
                <th>Secret</th>
                <th>Last used</th>
                <th>Accepted until</th>
              </tr>
            </thead>
            <tbody>
              {secrets.map(({ index, lastUsedAt, notAfter }) => (
                <tr key={index}>
                  <td>{index + 1}</td>
                  <td>
                    {lastUsedAt === undefined ? (
                      <span class="muted">never, as far as is known</span>
                    ) : (
                      <Time at={lastUsedAt} />
                    )}
                  </td>
                  <td>{notAfter ?? <span class="muted">no end</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  )
}
